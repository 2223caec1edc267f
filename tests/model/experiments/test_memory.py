"""Peaks are measured, and near what the arrays add up to."""

import numpy as np
import pytest

from model import GPT, GPTConfig
from model.experiments import memory

CONFIG = GPTConfig(2, 4, 64, 64, 65)


def test_peak_bytes_is_the_most_that_was_held_at_once():
    def call():
        first = np.ones(100_000)
        del first
        return np.ones(60_000)

    assert memory.peak_bytes(call) == pytest.approx(800_000, abs=5_000)


def test_the_cache_outgrows_the_model_at_the_crossover():
    tokens = memory.crossover_tokens(CONFIG, 8, 1_000_000)
    assert (tokens - 1) * CONFIG.bytes_per_token(8) <= 1_000_000 < tokens * CONFIG.bytes_per_token(8)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_what_is_measured_is_near_what_was_predicted(dtype):
    (row,) = memory.memory_rows(GPT.random(CONFIG, dtype=dtype), (512,))
    assert row.cache_bytes == 512 * CONFIG.bytes_per_token(np.dtype(dtype).itemsize)
    for peak in (row.uncached_all_peak, row.uncached_blocked_peak):
        assert peak.measured == pytest.approx(peak.predicted, rel=0.1)
    assert row.uncached_blocked_peak.measured < row.uncached_all_peak.measured / 2


def test_a_long_prefill_is_run_in_chunks_alone():
    whole, chunks = memory.long_prefill(GPT.random(CONFIG), context=1024, chunk=128)
    assert whole.measured is None
    assert whole.predicted > 8 * chunks.predicted / 2
    assert chunks.measured == pytest.approx(chunks.predicted, rel=0.1)
