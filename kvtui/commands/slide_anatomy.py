"""`kvtui slide --anatomy`: how much of the naive slide's error is positions, and how much stale context."""

import argparse
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from kvtui.figures import percent
from kvtui.output import write, write_json
from kvtui.prompts import encode_prompt
from kvtui.table import Table
from model.comparison import Comparison
from model.experiments.anatomy import PAIRS, Anatomy, anatomy
from model.gpt import GPT
from model.tokenizer import CharTokenizer

LEGEND = """\
positions: the real model || the same window from scratch, at the positions that the cache has baked in
both:      the real model || the naive slide, which has these positions and stale context
stale:     the window from scratch at these positions || the naive slide
"""


def run_anatomy(args: argparse.Namespace, gpt: GPT, tokenizer: CharTokenizer) -> None:
    show = (lambda text: None) if args.json else write
    table = Table("position", "positions", "KL, nats", "both", "KL, nats", "stale", "KL, nats")
    steps: list[Anatomy] = []
    prompt = encode_prompt(tokenizer, args.prompt)
    show(LEGEND + table.head())
    for step in anatomy(gpt, prompt, args.steps):
        steps.append(step)
        show(table.row(_cells(step)))
    if args.json:
        per_step = [_entry(step) for step in steps]
        data = {"per_step": per_step, "summary": _summary(steps)}
        write_json({"anatomy": data, "entries": _entries(steps[-1], tokenizer) if steps else []})
    else:
        write(table.row(_means(steps)) if steps else "no steps\n")


def _pairs(step: Anatomy) -> dict[str, Comparison]:
    return {name: getattr(step, name) for name in PAIRS}


def _cells(step: Anatomy) -> list[str]:
    cells = [f"{step.position}"]
    for pair in _pairs(step).values():
        cells += ["same" if pair.agree else "differ", f"{pair.kl:.4f}"]
    return cells


def _means(steps: Sequence[Anatomy]) -> list[str]:
    cells = ["mean"]
    for figures in _summary(steps).values():
        cells += [percent(figures["agreement"]), f"{figures['mean_kl']:.4f}"]
    return cells


def _summary(steps: Sequence[Anatomy]) -> dict[str, dict[str, Any]]:
    """For each of the comparisons, over all steps; None where there are none."""
    pairs = {name: [_pairs(step)[name] for step in steps] for name in PAIRS}
    return {
        name: {
            "agreement": fmean(step.agree for step in compared) if compared else None,
            "mean_kl": fmean(step.kl for step in compared) if compared else None,
        }
        for name, compared in pairs.items()
    }


def _entry(step: Anatomy) -> dict[str, Any]:
    pairs = {name: {"kl": pair.kl, "agree": pair.agree} for name, pair in _pairs(step).items()}
    return {"position": step.position, **pairs}


def _entries(step: Anatomy, tokenizer: CharTokenizer) -> list[dict[str, Any]]:
    """What the slid cache holds, the oldest entry first."""
    return [
        {"character": tokenizer.characters[token], "baked_position": baked, "rightful_position": rightful}
        for rightful, (token, baked) in enumerate(zip(step.window, step.baked_positions, strict=True))
    ]
