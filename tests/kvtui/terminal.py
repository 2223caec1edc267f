"""A Python program in a terminal of its own, whose screen can be read; for the benchmarks too."""

import os
import re
import select
import signal
import struct
import subprocess
import sys
import time

import pyte
import pytest

fcntl, termios = map(pytest.importorskip, ("fcntl", "termios"))  # Windows has no such terminals

# The terminal controls the process, as a shell's does: else nobody would tell it of another size.
# And no signal is ignored, as some are where the tests run in a shell's background.
LOGIN = """
import os, signal, sys
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    signal.signal(number, signal.SIG_DFL)
os.login_tty(0)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

BYTES = {"space": " ", "enter": "\r", "tab": "\t", "escape": "\x1b", "backspace": "\x7f"}
BYTES |= {"ctrl+c": "\x03", "ctrl+q": "\x11", "ctrl+z": "\x1a"}
BYTES |= {"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"}

# What a terminal of today says when it is asked whether it tells of its size in its input: it can.
ANSWERS = {b"\x1b[?2048$p": b"\x1b[?2048;2$y"}

PATIENCE = 60.0  # seconds


class Screen(pyte.Screen):
    """With an alternate screen, as far as that it is empty when it is entered."""

    def set_mode(self, *modes, **options):
        super().set_mode(*modes, **options)
        if 1049 in modes:
            self.erase_in_display(2)


class Terminal:
    """A Python with these arguments: takes keys, signals and sizes, and reads what it shows."""

    def __init__(self, *arguments, folder=None, size=(120, 40), answers=None):
        """In a folder it keeps its cache and its settings there; without one, where its user has them."""
        self.output = b""
        self._answers = answers or {}
        self._screen = Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._shown = 0  # bytes of the output that are on the screen
        self._master, self._slave = (os.fdopen(fd, "r+b", buffering=0) for fd in os.openpty())
        self.resize(*size)
        self.attributes_before = self.attributes
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        if folder:
            environment |= {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "CONFIG")}
        for name in ("COLUMNS", "LINES"):  # they would stand for the terminal's size
            environment.pop(name, None)
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [sys.executable, "-c", LOGIN, *map(str, arguments)],
            cwd=folder,
            env=environment,
            **dict.fromkeys(("stdin", "stdout", "stderr"), self._slave),
        )

    @property
    def screen(self):
        """Painted where somebody looks: that takes time, which a benchmark does not have."""
        self._stream.feed(self.output[self._shown :])
        self._shown = len(self.output)
        return self._screen

    @property
    def lines(self):
        return self.screen.display

    @property
    def text(self):
        return "\n".join(self.lines)

    @property
    def cells(self):
        """Each line's cells, with their colours."""
        buffer, columns = self.screen.buffer, range(self.screen.columns)
        return [[buffer[row][column] for column in columns] for row in range(self.screen.lines)]

    @property
    def attributes(self):
        """What `stty` shows."""
        return termios.tcgetattr(self._slave)

    @property
    def modes(self):
        """The state that each of the terminal's modes was left in: h is on, l is off."""
        return dict(re.findall(r"\x1b\[\?(\d+)([hl])", self.output.decode(errors="replace")))

    @property
    def left_behind(self):
        """What in the terminal is not as it was: nothing, where a program has tidied up."""
        at_rest = {"7": "h", "25": "h"}  # lines wrap, the cursor is there; all else is off
        left = [mode + state for mode, state in self.modes.items() if state != at_rest.get(mode, "l")]
        if len(re.findall(rb"\x1b\[>\d+u", self.output)) != self.output.count(b"\x1b[<u"):
            left.append("the keyboard's protocol")
        if self.attributes != self.attributes_before:
            left.append("what stty shows")
        return left

    def press(self, *keys):
        self._master.write("".join(BYTES.get(key, key) for key in keys).encode())

    def resize(self, columns, rows):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds=0.0):
        """Take in what comes within some time; False where nothing does."""
        if not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            output = self._master.read(1 << 16)
        except OSError:  # how Linux says that this was all
            return False
        self.output += output
        for question, answer in self._answers.items():
            if question in output:
                self._master.write(answer)
        return bool(output)

    def settle(self, quiet=0.15):
        """Read on until nothing has come for some time."""
        while self.read(quiet):
            pass

    def wait_for(self, text, seconds=PATIENCE):
        """Read on until a text is on the screen; or where it is bytes, until they have been written."""
        if isinstance(text, bytes):
            self.wait_until(lambda: text in self.output, seconds, f"no {text!r}")
        else:
            self.wait_until(lambda: text in self.text, seconds, f"no {text!r}")

    def wait_until(self, condition, seconds=PATIENCE, complaint="not what was waited for"):
        """Read on until a condition holds. Where it does not come to, fail with the whole screen."""
        end = time.monotonic() + seconds
        while not condition():
            status = self.process.poll()
            if not self.read(0.05) and (status is not None or time.monotonic() > end):
                when = f"after {seconds:g} s" if status is None else f"when it ended with {status}"
                raise AssertionError(f"{complaint} {when}:\n{self.text}")

    def send(self, *numbers):
        for number in numbers:
            self.process.send_signal(number)

    @property
    def stopped(self):
        """Whether it has been stopped since this was asked last."""
        return os.waitid(os.P_PID, self.process.pid, os.WSTOPPED | os.WNOHANG) is not None

    @property
    def unread(self):
        """Bytes that it has written, and nobody has read."""
        return struct.unpack("i", fcntl.ioctl(self._master, termios.FIONREAD, bytes(4)))[0]

    def wipe(self):
        """Forget what is on the screen."""
        self.screen.reset()

    def end(self, *how, seconds=PATIENCE):
        """End it by keys or signals, or wait for its end; its exit status, and all that it has written."""
        for each in how:
            self.send(each) if isinstance(each, signal.Signals) else self.press(each)
        self.wait_until(lambda: self.process.poll() is not None, seconds, "still running")
        self.settle()
        return self.process.returncode, self.output

    def hang_up(self):
        """Be gone, as a window that is closed."""
        self._slave.close()
        self._master.close()

    def close(self):
        """Let go of the terminal, and of the process, should it still run."""
        self.process.kill()
        self.process.wait()
        self.hang_up()
