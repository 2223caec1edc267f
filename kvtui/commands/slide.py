"""`kvtui slide`: what a naive sliding cache predicts, beside the real model, on the same text."""

import argparse
from pathlib import Path
from statistics import fmean
from typing import Any

from kvtui.commands.slide_anatomy import run_anatomy
from kvtui.commands.slide_policies import NAMES, named_policies, run_policies
from kvtui.errors import CommandError
from kvtui.figures import percent
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.options import whole
from kvtui.output import write, write_json
from kvtui.prompts import DEFAULT_PROMPT, encode_prompt
from kvtui.visual import visible
from model.comparison import Comparison
from model.experiments.policies import STARTS
from model.experiments.slide import slide
from model.gpt import GPT
from model.tokenizer import CharTokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The real model continues the prompt until its positions are used up. From there on it "
        "recomputes its window at every step, while the naive cache drops its oldest entry and goes "
        "on; both see the text that the real model writes. With --policies the text is a file's, or "
        "drawn after the prompt at temperature 1, with a seed for each starting point."
    )
    parser.add_argument(
        "--steps", type=whole(0), default=50, metavar="N", help="steps past the limit (default: 50)"
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        help=f"what the text begins with (default: {DEFAULT_PROMPT!r})",
    )
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument(
        "--policies",
        type=named_policies,
        metavar="NAME,NAME",
        help=f"a table of what can be done at the limit: all, or some of {', '.join(NAMES)}",
    )
    instead.add_argument(
        "--anatomy",
        action="store_true",
        help="tell the naive slide's two faults apart: wrong positions, and stale context",
    )
    parser.add_argument(
        "--text", type=Path, metavar="FILE", help="with --policies: the text that they read, in UTF-8"
    )
    parser.add_argument(
        "--starts", type=whole(1), metavar="N", help=f"with --policies: starting points (default: {STARTS})"
    )


def run(args: argparse.Namespace) -> int:
    _check(args)
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        tokenizer = load_tokenizer(args.model, gpt)
        kind = run_policies if args.policies else run_anatomy if args.anatomy else run_slide
        kind(args, gpt, tokenizer)
    return 0


def _check(args: argparse.Namespace) -> None:
    for name in ("text", "starts"):
        if getattr(args, name) is not None and not args.policies:
            raise CommandError(f"--{name} goes with --policies; else the one text is the real model's")
    if args.policies and not args.steps:
        raise CommandError("--policies needs at least one step: without any there is nothing to compare")
    if args.text is not None and args.prompt is not None:
        raise CommandError("--prompt is for a text that the model writes; leave out either it or --text")


def run_slide(args: argparse.Namespace, gpt: GPT, tokenizer: CharTokenizer) -> None:
    show = (lambda text: None) if args.json else write
    steps: list[Comparison] = []
    prompt = encode_prompt(tokenizer, args.prompt)
    show(f"{'position':>8}  {'real':^4}  {'':^6}  {'naive':^5}  {'KL, nats':>8}\n")
    for step in slide(gpt, prompt, args.steps):
        steps.append(step)
        show(_row(step, tokenizer))
    if args.json:
        write_json(_data(steps, tokenizer))
    else:
        write(_summary(steps))


def _row(step: Comparison, tokenizer: CharTokenizer) -> str:
    real, naive = (visible(tokenizer.characters[token]) for token in (step.real, step.other))
    mark = "same" if step.agree else "differ"
    return f"{step.position:8}  {real:^4}  {mark:^6}  {naive:^5}  {step.kl:8.3f}\n"


def _summary(steps: list[Comparison]) -> str:
    if not steps:
        return "no steps\n"
    figures = _figures(steps)
    first = figures["first_difference"]
    return (
        f"the same character in {figures['agree']} of {len(steps)} steps ({percent(figures['agreement'])})"
        f" · mean KL {figures['mean_kl']:.3f} nats"
        f" · {'no difference' if first is None else f'first difference at {first}'}\n"
    )


def _figures(steps: list[Comparison]) -> dict[str, Any]:
    agree = sum(step.agree for step in steps)
    return {
        "steps": len(steps),
        "agree": agree,
        "agreement": agree / len(steps) if steps else None,
        "mean_kl": fmean(step.kl for step in steps) if steps else None,
        "first_difference": next((step.position for step in steps if not step.agree), None),
    }


def _data(steps: list[Comparison], tokenizer: CharTokenizer) -> dict[str, object]:
    per_step = [
        {
            "position": step.position,
            "real": tokenizer.characters[step.real],
            "naive": tokenizer.characters[step.other],
            "agree": step.agree,
            "kl": step.kl,
        }
        for step in steps
    ]
    return {**_figures(steps), "per_step": per_step}
