"""How the app feels, in a terminal of its own: python tests/benchmarks/responsiveness.py

First paint beside an empty Textual app that imports NumPy, key to paint while stepping and while
running, bytes to the terminal, and what it does when nothing happens. Prints a table.
"""

import contextlib
import fcntl
import os
import pty
import select
import statistics
import struct
import sys
import termios
import time
from collections.abc import Iterator

EMPTY = "import numpy; from textual.app import App; App().run()"
OURS = "import sys; from kvtui.cli import main; sys.argv = ['kvtui']; sys.exit(main())"
QUIET = 0.15  # seconds without output after which a picture counts as painted


class Terminal:
    """A program in a pty, whose output is read and timed."""

    def __init__(self, code: str, rows: int = 40, columns: int = 120) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execv(sys.executable, [sys.executable, "-c", code])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds: float) -> bytes:
        """What comes within so many seconds; nothing where nothing does."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        return os.read(self.fd, 1 << 16) if ready else b""

    def until(self, text: bytes, seconds: float = 30) -> float:
        """Read on until a text has come; the time since the start."""
        seen, end = b"", time.perf_counter() + seconds
        while text not in seen and time.perf_counter() < end:
            seen += self.read(0.5)
        return time.perf_counter() - self.started

    def settle(self, quiet: float = QUIET) -> None:
        while self.read(quiet):
            pass

    def key_to_paint(self, key: bytes, text: bytes = b"") -> float:
        """Seconds from a key to the first of what it paints, or to the painting of a text."""
        begin = time.perf_counter()
        os.write(self.fd, key)
        seen = self.read(5)
        while text not in seen:
            seen += self.read(5)
        return time.perf_counter() - begin

    def settle_for(self, seconds: float) -> None:
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def cpu_seconds(self) -> float:
        with open(f"/proc/{self.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.write(self.fd, b"q")
            self.settle()
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@contextlib.contextmanager
def terminal(code: str) -> Iterator[Terminal]:
    it = Terminal(code)
    try:
        yield it
    finally:
        it.close()


def p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]


def tell(what: str, times: list[float]) -> None:
    print(f"{what:22} {p95(times) * 1e3:7.1f} ms   p95; median {statistics.median(times) * 1e3:.1f}")


def first_paint(rounds: int = 5) -> tuple[float, float]:
    """Medians for an empty app and for ours, in turns."""
    empty, ours = [], []
    for _ in range(rounds):
        it = Terminal(EMPTY)
        empty.append(it.until(b"\x1b[?25l"))  # the cursor is hidden as the first picture is painted
        it.settle()
        os.write(it.fd, b"\x11")  # ctrl+q
        it.settle()
        os.close(it.fd)
        os.waitpid(it.pid, 0)
        with terminal(OURS) as it:
            ours.append(it.until(b"of 128 positions"))
            it.settle()
    return statistics.median(empty), statistics.median(ours)


def main() -> None:
    empty, ours = first_paint()
    print(
        f"first paint            {ours * 1e3:7.0f} ms   "
        f"an empty app {empty * 1e3:.0f} ms, ratio {ours / empty:.2f}"
    )
    with terminal(OURS) as it:
        it.until(b"of 128 positions")
        it.settle(3)  # the curves are measured, at first use
        times = []
        for _ in range(60):
            times.append(it.key_to_paint(b" "))
            it.settle_for(0.4)
        tell("key to paint, steps", times)
        times = []
        for _ in range(30):
            it.key_to_paint(b"r", b"running")
            it.settle_for(0.3)
            times.append(it.key_to_paint(b"r", b"uncached"))
            it.settle_for(0.2)
        tell("key to paint, running", times)
        it.settle(1)
        begin, cpu, written = time.perf_counter(), it.cpu_seconds(), 0
        while time.perf_counter() - begin < 10:
            written += len(it.read(0.5))
        share = (it.cpu_seconds() - cpu) / (time.perf_counter() - begin)
        print(f"idle for 10 s          {share * 100:7.2f} %    of a core, {written} bytes written")
        os.write(it.fd, b"r")
        begin, written = time.perf_counter(), 0
        while time.perf_counter() - begin < 5:
            written += len(it.read(0.1))
        print(f"running                {written / 5 / 1000:7.1f} kB/s to the terminal")


if __name__ == "__main__":
    main()
