"""`kvtui` without a command: the screen."""

import argparse
import os
import sys

from kvtui.errors import CommandError
from kvtui.options import add_sampling


def add_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the screen's options")
    group.add_argument("--prompt", dest="screen_prompt", metavar="TEXT", help="what the text begins with")
    group.add_argument(
        "--ascii", dest="screen_ascii", action="store_true", help="draw without block characters"
    )
    group.add_argument("--tour", dest="screen_tour", action="store_true", help="begin with the guided tour")
    add_sampling(parser)


def run(args: argparse.Namespace) -> int:
    if args.json:
        raise CommandError("--json needs a command, such as: kvtui generate PROMPT --json")
    served = "TEXTUAL_DRIVER" in os.environ  # in a browser, which has no terminal: see `kvtui serve`
    if not served and not all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr)):
        raise CommandError("the screen needs a terminal; without one there is: kvtui generate PROMPT")
    from kvtui.start import run_screen  # Textual is loaded here and nowhere else

    return run_screen(args)
