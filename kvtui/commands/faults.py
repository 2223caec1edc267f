"""`kvtui faults`: what has gone wrong in other caches, and can be put into this one."""

import argparse
import shutil
from textwrap import wrap

from kvtui.output import write, write_json
from model.faults import FAULTS

NARROWEST = 20  # the column of prose


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Each was reported in public, and each is quiet: nothing stops, and the numbers are wrong. "
        "kvtui verify --with-fault NAME shows which checks notice it."
    )


def run(args: argparse.Namespace) -> int:
    entries = [{"name": fault.name, "what": fault.what, "seen_in": fault.seen_in} for fault in FAULTS]
    if args.json:
        write_json({"faults": entries})
    else:
        write("\n".join(_rows(entries, shutil.get_terminal_size().columns)))
    return 0


def _rows(entries: list[dict[str, str]], width: int) -> list[str]:
    """A name, and beside it what goes wrong and, in a paragraph below, where that was seen."""
    indent = max(len(entry["name"]) for entry in entries) + 2
    prose = max(width - indent, NARROWEST)
    rows = []
    for entry in entries:
        lines = wrap(entry["what"], prose) + wrap("Seen in " + entry["seen_in"], prose)
        names = [entry["name"]] + [""] * (len(lines) - 1)
        rows.append("".join(f"{name:{indent}}{line}\n" for name, line in zip(names, lines, strict=True)))
    return rows
