"""kvtui as a process in a terminal of its own, whose screen can be read."""

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
LOGIN = "import os, sys; os.login_tty(0); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"

BYTES = {"space": " ", "enter": "\r", "tab": "\t", "escape": "\x1b", "ctrl+c": "\x03", "ctrl+q": "\x11"}
BYTES |= {"backspace": "\x7f", "up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D"}

PATIENCE = 60.0  # seconds


class Screen(pyte.Screen):
    """With an alternate screen, as far as that it is empty when it is entered."""

    def set_mode(self, *modes, **options):
        super().set_mode(*modes, **options)
        if 1049 in modes:
            self.erase_in_display(2)


class Terminal:
    """A kvtui with these arguments: takes keys, signals and sizes, and reads what it shows."""

    def __init__(self, folder, *arguments, size=(120, 40)):
        """It runs in a folder, and keeps its cache and its settings there."""
        self.output = b""
        self._screen = Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._master, self._slave = (os.fdopen(fd, "r+b", buffering=0) for fd in os.openpty())
        self.resize(*size)
        self.attributes_before = self.attributes
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        environment |= {f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("CACHE", "CONFIG")}
        for name in ("COLUMNS", "LINES"):  # they would stand for the terminal's size
            environment.pop(name, None)
        self._process = subprocess.Popen(
            [sys.executable, "-c", LOGIN, "-m", "kvtui", *map(str, arguments)],
            cwd=folder,
            env=environment,
            **dict.fromkeys(("stdin", "stdout", "stderr"), self._slave),
        )

    @property
    def lines(self):
        return self._screen.display

    @property
    def text(self):
        return "\n".join(self.lines)

    @property
    def cells(self):
        """Each line's cells, with their colours."""
        buffer, columns = self._screen.buffer, range(self._screen.columns)
        return [[buffer[row][column] for column in columns] for row in range(self._screen.lines)]

    @property
    def attributes(self):
        """What `stty` shows."""
        return termios.tcgetattr(self._slave)

    @property
    def modes(self):
        """The state that each of the terminal's modes was left in: h is on, l is off."""
        return dict(re.findall(r"\x1b\[\?(\d+)([hl])", self.output.decode(errors="replace")))

    def press(self, *keys):
        self._master.write("".join(BYTES.get(key, key) for key in keys).encode())

    def resize(self, columns, rows):
        self._screen.resize(rows, columns)
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
        self._stream.feed(output)
        return bool(output)

    def wait_for(self, text, seconds=PATIENCE):
        self.wait_until(lambda: text in self.text, seconds, f"no {text!r}")

    def wait_until(self, condition, seconds=PATIENCE, complaint="not what was waited for"):
        """Read on until a condition holds. Where it does not come to, fail with the whole screen."""
        end = time.monotonic() + seconds
        while not condition():
            status = self._process.poll()
            if not self.read(0.05) and (status is not None or time.monotonic() > end):
                when = f"after {seconds:g} s" if status is None else f"when it ended with {status}"
                raise AssertionError(f"{complaint} {when}:\n{self.text}")

    def send(self, number):
        self._process.send_signal(number)

    @property
    def stopped(self):
        """Whether it has been stopped since this was asked last."""
        return os.waitid(os.P_PID, self._process.pid, os.WSTOPPED | os.WNOHANG) is not None

    def wipe(self):
        """Forget what is on the screen."""
        self._screen.reset()

    def end(self, how):
        """End it by a key or a signal; its exit status, and all that it has written."""
        if isinstance(how, signal.Signals):
            self.send(how)
        else:
            self.press(how)
        self.wait_until(lambda: self._process.poll() is not None, complaint="still running")
        while self.read(0.1):
            pass
        return self._process.returncode, self.output

    def close(self):
        """Let go of the terminal, and of the process, should it still run."""
        self._process.kill()
        self._process.wait()
        self._slave.close()
        self._master.close()
