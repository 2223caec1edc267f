"""The app in a terminal of Unix, which it leaves as it was, whatever signal comes and whenever."""

import os
import signal
import termios
from types import FrameType
from typing import Any

from textual.binding import Binding
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from kvtui.app import KvtuiApp

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = 10  # seconds in which a terminal must take what puts it right


class TerminalDriver(LinuxDriver):
    """Signals end the app as `q` does, with status 128 + their number, exactly while it has the terminal.

    Before and after, and while the app is stopped (Ctrl-Z), the terminal is as it was, and a signal
    does what it always does: it ends the process at once.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._heeded: list[signal.Signals] = []
        self._told: int | None = None  # the status to end with
        self._in_use = False
        self._suspended = False

    def start_application_mode(self) -> None:
        self._suspended = False
        while self._in_background():  # until somebody brings it to the front
            os.kill(os.getpid(), signal.SIGSTOP)
        self._take_signals()
        super().start_application_mode()  # type: ignore[no-untyped-call]
        self._in_use = True

    def stop_application_mode(self) -> None:
        self._in_use = False
        self.disable_input()  # first: an answer of the terminal's that is read late switches modes on
        self.write("\x1b[?1016l")  # mouse positions in pixels, which Textual leaves on
        super().stop_application_mode()

    def close(self) -> None:
        super().close()  # all is written
        self._return_signals()

    def suspend_application_mode(self) -> None:
        if not self._in_use:  # not yet, or not any more: there is nothing to put right
            return
        super().suspend_application_mode()
        self._suspended = True
        if self._told is not None:  # meanwhile; stopped, it would not end
            os._exit(self._told)

    def resume_application_mode(self) -> None:
        """On SIGCONT; which also comes where the app was never stopped: after a SIGTERM of systemd's."""
        if self._suspended:
            super().resume_application_mode()
        else:
            self._loop.call_soon_threadsafe(self._enter_again)

    def _enter_again(self) -> None:
        """Take the terminal anew: after SIGSTOP, of which nobody is told, it may have been a shell's."""
        if self._in_use and self._told is None:
            self.suspend_application_mode()
            super().resume_application_mode()
            self.send_message(self.SignalResume())

    def _in_background(self) -> bool:
        try:
            return os.tcgetpgrp(self.fileno) != os.getpgrp()
        except OSError:  # a terminal that controls nothing, so that there is no background either
            return False

    def _take_signals(self) -> None:
        self._heeded = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._heeded:
            signal.signal(number, self._end)

    def _return_signals(self) -> None:
        signal.alarm(0)
        for number in self._heeded:
            signal.signal(number, signal.SIG_DFL)

    def _end(self, number: int, frame: FrameType | None) -> None:
        """End the app from its loop; without it where the terminal is gone, or takes nothing in time."""
        self._told = status = 128 + number
        try:
            termios.tcgetattr(self.fileno)
        except termios.error:
            os._exit(status)
        signal.signal(signal.SIGALRM, lambda *_: os._exit(status))
        signal.alarm(PATIENCE)
        self._loop.call_soon_threadsafe(self._exit_app, status)

    def _exit_app(self, status: int) -> None:
        """Exit once the screen is whole: Textual leaves the rest of it out, and handlers look for it."""
        screens = self._app.screen_stack
        if screens and screens[-1].is_mounted:
            self._app.exit(return_code=status)
        else:
            self._loop.call_later(0.02, self._exit_app, status)


class TerminalApp(KvtuiApp):
    """The app, which Ctrl-Z stops until the shell continues it."""

    BINDINGS = [Binding("ctrl+z", "suspend_process", "Stop, until the shell says fg", show=False)]

    def get_driver_class(self) -> type[Driver]:
        return TerminalDriver
