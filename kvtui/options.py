"""Options that all commands have, and the kinds of numbers that options take."""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

from kvtui import __version__

# What holds where a common option is given neither before nor after the command's name.
COMMON_DEFAULTS = {"model": None, "dtype": "float64", "seed": None, "json": False}
SAMPLING_DEFAULTS = {"temperature": 0.0, "top_k": None}


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add the common options; without defaults, so that a command's do not undo the ones before it."""
    group = parser.add_argument_group("common options")

    def add(name: str, **settings: object) -> None:
        group.add_argument(name, default=argparse.SUPPRESS, **settings)  # type: ignore[arg-type]

    add("--model", type=Path, metavar="DIR", help="a GPT-2 model directory (default: the bundled model)")
    add("--dtype", choices=("float64", "float32"), help="numbers to compute with (default: float64)")
    add("--seed", type=whole(0, 2**63 - 1), metavar="N", help="of what is drawn at random (default: 0)")
    add("--json", action="store_true", help="print one JSON object")
    add("--version", action="version", version=f"kvtui {__version__}", help="print the version")


def add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add how the next character is chosen; without defaults too: see SAMPLING_DEFAULTS."""
    parser.add_argument(
        "--temperature",
        type=real("of at least 0", lambda x: x >= 0),
        default=argparse.SUPPRESS,
        metavar="T",
        help="0 takes the most likely character, 1 draws as the model predicts (default: 0)",
    )
    parser.add_argument(
        "--top-k",
        type=whole(1),
        default=argparse.SUPPRESS,
        metavar="K",
        help="draw from the K most likely ones",
    )


def whole(minimum: int, maximum: int = 10**8) -> Callable[[str], int]:
    """The type of an option that takes whole numbers in a range."""

    def parse(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = minimum - 1
        if not minimum <= number <= maximum:
            raise argparse.ArgumentTypeError(
                f"must be a whole number from {minimum} to {maximum:,}, not {text!r}"
            )
        return number

    return parse


def real(wanted: str, accepts: Callable[[float], bool]) -> Callable[[str], float]:
    """The type of an option that takes finite numbers of some kind, named in words."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not (math.isfinite(number) and accepts(number)):
            raise argparse.ArgumentTypeError(f"must be a number {wanted}, not {text!r}")
        return number

    return parse
