"""What times are measured on, and BLAS held to the threads that they are measured with."""

import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np  # before threadpoolctl looks: it sees the BLAS that NumPy has loaded
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]


def blas_threads(count: int) -> threadpool_limits:
    """A context in which BLAS uses so many threads."""
    return threadpool_limits(count, user_api="blas")


def single_blas_thread() -> threadpool_limits:
    """A context for timing: a second thread gains nothing on small products, and can cost 100 times."""
    return blas_threads(1)


@dataclass(frozen=True)
class Machine:
    """The parts of a machine that a time depends on."""

    processor: str
    blas: str  # name and version
    blas_threads: int | None  # None where the BLAS does not tell
    numpy: str
    python: str

    @classmethod
    def here(cls) -> "Machine":
        """This machine, with the threads that BLAS uses now."""
        blas = _blas()
        return cls(
            processor=_processor(),
            blas=f"{blas.get('internal_api', 'unknown BLAS')} {blas.get('version') or ''}".strip(),
            blas_threads=blas.get("num_threads"),
            numpy=np.__version__,
            python=platform.python_version(),
        )


def blas_threads_in_use() -> int | None:
    """How many threads BLAS uses now; None where it does not tell."""
    return _blas().get("num_threads")


def _blas() -> dict[str, Any]:
    return next((lib for lib in threadpool_info() if lib["user_api"] == "blas"), {})


def _processor() -> str:
    """The processor's name; Linux tells it in a file only."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
