"""The command line: finds the command, runs it, and turns what went wrong into one line and a status."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

from kvtui.commands import screen
from kvtui.errors import CommandError, explain, one_line
from kvtui.options import COMMON_DEFAULTS, SAMPLING_DEFAULTS, add_common
from kvtui.output import say

# Each is a module of kvtui.commands with `add_arguments(parser)` and `run(args) -> exit status`.
COMMANDS = {
    "generate": "write text after a prompt, and time it",
    "verify": "check that the cache changes nothing",
    "faults": "how real caches went wrong, and what comes of it here",
    "slide": "hold the naive sliding cache against the real model",
    "inspect": "look into the cache: attention, keys and values, exactness by layer",
    "bench": "measure what steps, memory and whole texts cost",
    "memory": "work out the KV cache of any model",
    "serve": "show the screen in a browser on this machine",
    "train": "train a model on any text file",
}

FAILED, INTERRUPTED, PIPE_CLOSED = 2, 130, 141  # the latter two as shells count signals


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own) and return its exit status."""
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (closed by the caller: `>&-`)
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal cannot show is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    try:
        status = _run(sys.argv[1:] if argv is None else list(argv))
        sys.stdout.flush()  # a closed pipe or a full disk shows here at the latest
        return status
    except CommandError as error:
        return _fail(str(error))
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except OSError as error:
        _discard_output()
        return _fail(explain(error))
    except MemoryError as error:
        return _fail(f"not enough memory{f': {error}' if str(error) else ''}")
    except KeyboardInterrupt as interrupt:
        say(f"kvtui: {one_line(str(interrupt)) or 'interrupted'}")
        return INTERRUPTED


def _run(argv: list[str]) -> int:
    try:
        args = _parse(argv)
    except SystemExit:  # argparse has printed the help or the version
        return 0
    status: int = args.run(args)
    return status


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandError(f"{message}; see {self.prog} --help")


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = _Parser(prog="kvtui", description="A microscope for the KV cache.", allow_abbrev=False)
    add_common(parser)
    screen.add_arguments(parser)
    parser.set_defaults(run=screen.run)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, summary in COMMANDS.items():
        command = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        if name in argv:  # only what is asked for is imported: NumPy alone takes longer than --help
            module = import_module(f"kvtui.commands.{name}")
            module.add_arguments(command)
            command.set_defaults(run=module.run)
            add_common(command)
    args = parser.parse_args(argv, argparse.Namespace(argv=argv, **COMMON_DEFAULTS, **SAMPLING_DEFAULTS))
    ours = {name: value for name, value in vars(args).items() if name.startswith("screen_")}
    given = [name for name, value in ours.items() if value not in (None, False)]
    if given and args.run is not screen.run:
        name = given[0].replace("screen_", "--")
        raise CommandError(f"{name} before a command is the screen's; a command's options stand behind it")
    return args


def _fail(message: str) -> int:
    say(f"kvtui: error: {one_line(message)}")
    return FAILED


def _discard_output() -> None:
    """Keep Python from trying again, as it exits, to write what could not be written."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
