"""`kvtui faults`: what has gone wrong in other caches; and with a name, what comes of it in this one."""

import argparse
import shutil
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from kvtui.errors import CommandError
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.options import whole
from kvtui.output import write, write_json
from kvtui.prompts import given_prompt
from kvtui.session import Session
from kvtui.snapshot import Snapshot
from model.faults import FAULTS, Fault

NARROWEST = 20  # the column of prose
STEPS = 40


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Each was reported in public, and each is quiet: nothing stops, and the numbers are wrong. With a "
        "name, the model writes a text with this fault in its cache, beside the sound one, greedily. "
        "kvtui verify --with-fault NAME shows which checks notice it."
    )
    names = [fault.name for fault in FAULTS]
    parser.add_argument(
        "name", nargs="?", choices=names, metavar="NAME", help="run the model with this one"
    )
    parser.add_argument("--prompt", metavar="TEXT", help="what the text begins with")
    parser.add_argument("-n", type=whole(0), metavar="N", help=f"characters more (default: {STEPS})")


def run(args: argparse.Namespace) -> int:
    if args.name:
        return _run_with(next(fault for fault in FAULTS if fault.name == args.name), args)
    if args.prompt is not None or args.n is not None:
        raise CommandError("--prompt and -n are of a run with a fault: give its NAME, one of kvtui faults")
    entries = [_entry(fault) for fault in FAULTS]
    if args.json:
        write_json({"faults": entries})
    else:
        write("\n".join(_rows(entries, shutil.get_terminal_size().columns)))
    return 0


def _run_with(fault: Fault, args: argparse.Namespace) -> int:
    """Both texts, and what can be noticed from outside."""
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        tokenizer = load_tokenizer(args.model, gpt)
        session = Session(gpt, tokenizer, given_prompt(tokenizer, args.prompt))
        session.set_fault(fault)
        for _ in range(STEPS if args.n is None else args.n):
            session.step()
        snapshot = session.snapshot()
    if args.json:
        write_json(faulty_data(snapshot))
    else:
        write(_report(snapshot))
    return 0


def faulty_data(snapshot: Snapshot) -> dict[str, Any]:
    """What the screen shows of a run with a fault, as JSON has it."""
    faulty = snapshot.faulty
    assert faulty is not None, "it was asked for"
    return {
        "fault": _entry(faulty.fault),
        "prompt": snapshot.prompt,
        "text": faulty.generated,
        "sound_text": snapshot.generated,
        "differs_at": faulty.differs_at,
        "meters": [asdict(meter) for meter in faulty.meters],
    }


def _report(snapshot: Snapshot) -> str:
    faulty = snapshot.faulty
    assert faulty is not None, "it was asked for"
    meters = "".join(
        f"  {meter.name:16}{'NOTICES' if meter.notices else 'ok':8}{meter.reading}\n"
        for meter in faulty.meters
    )
    return (
        f"sound:\n{snapshot.text}\n\n{faulty.fault.name}:\n{snapshot.prompt}{faulty.generated}\n\n{meters}"
    )


def _entry(fault: Fault) -> dict[str, str]:
    return {"name": fault.name, "what": fault.what, "seen_in": fault.seen_in}


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
