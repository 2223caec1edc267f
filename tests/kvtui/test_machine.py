"""What times are measured on."""

import numpy as np

from kvtui.machine import Machine, blas_threads, single_blas_thread


def test_the_machine_is_described():
    machine = Machine.here()
    assert machine.processor
    assert machine.blas
    assert machine.numpy == np.__version__
    assert machine.python.startswith("3.")


def test_blas_is_held_to_its_threads_inside_the_block_alone():
    if (before := Machine.here().blas_threads) is None:
        return  # a BLAS that cannot be asked cannot be held either
    with single_blas_thread():
        assert Machine.here().blas_threads == 1
        with blas_threads(2):
            assert Machine.here().blas_threads == 2
        assert Machine.here().blas_threads == 1
    assert Machine.here().blas_threads == before
