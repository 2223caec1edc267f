"""Where things are written: data to standard output, everything else to standard error."""

import json
import sys
from typing import Any


def write(text: str) -> None:
    """Data, seen at once. A terminal gets it with control characters spelled out: a text can hold any."""
    if sys.stdout.isatty():
        text = "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)
    sys.stdout.write(text)
    sys.stdout.flush()


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
