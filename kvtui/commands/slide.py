"""`kvtui slide`: what a naive sliding cache predicts, beside the real model, on the same text."""

import argparse
from statistics import fmean
from typing import Any

from kvtui.figures import percent
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.options import whole
from kvtui.output import write, write_json
from kvtui.prompts import DEFAULT_PROMPT, encode_prompt
from kvtui.visual import visible
from model.comparison import Comparison
from model.experiments.slide import slide
from model.tokenizer import CharTokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The real model continues the prompt until its positions are used up. From there on it "
        "recomputes its window at every step, while the naive cache drops its oldest entry and goes "
        "on; both see the text that the real model writes."
    )
    parser.add_argument(
        "--steps", type=whole(0), default=50, metavar="N", help="steps past the limit (default: 50)"
    )
    parser.add_argument(
        "--prompt",
        metavar="TEXT",
        help=f"what the text begins with (default: {DEFAULT_PROMPT!r})",
    )


def run(args: argparse.Namespace) -> int:
    show = (lambda text: None) if args.json else write
    steps: list[Comparison] = []
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        tokenizer = load_tokenizer(args.model, gpt)
        prompt = encode_prompt(tokenizer, args.prompt)
        show(f"{'position':>8}  {'real':^4}  {'':^6}  {'naive':^5}  {'KL, nats':>8}\n")
        for step in slide(gpt, prompt, args.steps):
            steps.append(step)
            show(_row(step, tokenizer))
    if args.json:
        write_json(_data(steps, tokenizer))
    else:
        write(_summary(steps))
    return 0


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
