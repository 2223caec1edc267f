"""How the app feels, in a terminal of its own: python tests/benchmarks/responsiveness.py

First paint beside an empty Textual app that imports NumPy, key to paint while stepping and while
running, bytes to the terminal, and what it does when nothing happens. Prints a table.
"""

import contextlib
import os
import runpy
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Terminal = runpy.run_path(str(Path(__file__).parents[1] / "kvtui" / "terminal.py"))["Terminal"]

EMPTY = ("-c", "import numpy; from textual.app import App; App().run()")
OURS = ("-m", "kvtui")
FIRST_PICTURE = b"of 128 positions"


@contextlib.contextmanager
def terminal(program: tuple[str, ...]) -> Iterator[Any]:
    it = Terminal(*program)
    try:
        yield it
        it.settle()
        it.end("ctrl+q")
    finally:
        it.close()


def seconds_until(it: Any, text: bytes) -> float:
    """From the start of the process."""
    it.wait_for(text)
    return time.perf_counter() - it.started


def key_to_paint(it: Any, key: str, text: bytes = b"") -> float:
    """Seconds from a key to the first of what it paints, or to the painting of a text."""
    begin, written = time.perf_counter(), len(it.output)
    it.press(key)
    it.wait_until(lambda: len(it.output) > written and text in it.output[written:])
    return time.perf_counter() - begin


def written_in(it: Any, seconds: float) -> int:
    """Bytes that come within some time."""
    end, written = time.perf_counter() + seconds, len(it.output)
    while (left := end - time.perf_counter()) > 0:
        it.read(left)
    return len(it.output) - written


def cpu_seconds(it: Any) -> float:
    with open(f"/proc/{it.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def tell(what: str, times: list[float]) -> None:
    print(f"{what:22} {p95(times) * 1e3:7.1f} ms   p95; median {statistics.median(times) * 1e3:.1f}")


def first_paint(rounds: int = 5) -> tuple[float, float]:
    """Medians for an empty app and for ours, in turns."""
    empty, ours = [], []
    for _ in range(rounds):
        with terminal(EMPTY) as it:
            empty.append(
                seconds_until(it, b"\x1b[?25l")
            )  # the cursor is hidden as the first picture is painted
        with terminal(OURS) as it:
            ours.append(seconds_until(it, FIRST_PICTURE))
    return statistics.median(empty), statistics.median(ours)


def main() -> None:
    empty, ours = first_paint()
    print(
        f"first paint            {ours * 1e3:7.0f} ms   "
        f"an empty app {empty * 1e3:.0f} ms, ratio {ours / empty:.2f}"
    )
    with terminal(OURS) as it:
        it.wait_for(FIRST_PICTURE)
        it.settle(3)  # the curves are measured, at first use
        times = []
        for _ in range(60):
            times.append(key_to_paint(it, "space"))
            written_in(it, 0.4)
        tell("key to paint, steps", times)
        times = []
        for _ in range(30):
            key_to_paint(it, "r", b"running")
            written_in(it, 0.3)
            times.append(key_to_paint(it, "r", b"uncached"))
            written_in(it, 0.2)
        tell("key to paint, running", times)
        it.settle(1)
        cpu, written = cpu_seconds(it), written_in(it, 10)
        share = (cpu_seconds(it) - cpu) / 10
        print(f"idle for 10 s          {share * 100:7.2f} %    of a core, {written} bytes written")
        it.press("r")
        print(f"running                {written_in(it, 5) / 5 / 1000:7.1f} kB/s to the terminal")


if __name__ == "__main__":
    main()
