"""Where things are written: data to standard output, everything else to standard error."""

import json
import sys
from typing import Any
from unicodedata import category

BIDIRECTIONAL = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"


def write(text: str) -> None:
    """Data, seen at once. A terminal gets it with control characters spelled out: a text can hold any."""
    sys.stdout.write("".join(map(_harmless, text)) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def _harmless(character: str) -> str:
    """A character as it is, unless it controls the terminal, breaks a line, or turns the text round."""
    controls = character in BIDIRECTIONAL or category(character) in ("Cc", "Cs", "Zl", "Zp")
    return repr(character)[1:-1] if controls and character not in "\n\t" else character


def write_json(data: dict[str, Any]) -> None:
    """The one JSON object of a command. It never holds NaN, which is not JSON: see `finite`."""
    write(json.dumps(data, allow_nan=False) + "\n")


def finite(number: float) -> float | None:
    """A number as JSON can say it: NaN and the infinities are null."""
    return number if abs(number) < float("inf") else None


def say(message: str) -> None:
    """A line for the person at the terminal."""
    sys.stderr.write(message + "\n")
    sys.stderr.flush()
