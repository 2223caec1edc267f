"""`kvtui serve`: the screen in a browser on this machine."""

import argparse
import shlex
import sys

from kvtui.errors import CommandError
from kvtui.options import whole

HOST = "127.0.0.1"  # this machine alone: whoever reaches the page runs the program


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=whole(1, 65535), default=8000, metavar="N", help="(default: 8000)")


def run(args: argparse.Namespace) -> int:
    try:
        from textual_serve.server import Server
    except ImportError:
        raise CommandError("serve needs one package more: pip install 'kvtui[web]'") from None
    command = [sys.executable, "-m", "kvtui", "--dtype", args.dtype]
    command += ["--model", str(args.model.resolve())] if args.model else []
    Server(shlex.join(command), host=HOST, port=args.port, title="kvtui").serve()
    return 0
