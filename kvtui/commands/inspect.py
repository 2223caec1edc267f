"""`kvtui inspect`: a look into the cache after a text, as the screen's inspector has it."""

import argparse
from typing import Any

import numpy as np

from kvtui.commands.slide_policies import NAMES, option_name
from kvtui.errors import CommandError
from kvtui.inspecting import Cursor, Inspection
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.options import add_sampling, whole
from kvtui.output import finite, write, write_json
from kvtui.prompts import given_prompt
from kvtui.session import Session
from kvtui.visual import POLICY_LABELS, visible
from model.config import GPTConfig
from model.limit import Recompute
from model.sampling import make_sampler

STRONGEST = 5  # entries of a head that are listed
ENDLESS = [name for name, policy in NAMES.items() if policy.goes_on]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Attention is the newest character's, to every stored entry, in all heads of the layer. The "
        "differences are from a full pass over the stored characters, at their rightful positions."
    )
    parser.add_argument("--prompt", metavar="TEXT", help="what the text begins with")
    parser.add_argument("-n", type=whole(0), default=20, metavar="N", help="characters more (default: 20)")
    parser.add_argument(
        "--policy",
        type=option_name,
        choices=ENDLESS,
        default=Recompute.name,
        help="whose cache, past the limit (default: the real model's)",
    )
    parser.add_argument("--layer", type=whole(0), default=0, metavar="L", help="from 0 on (default: 0)")
    parser.add_argument("--head", type=whole(0), default=0, metavar="H", help="from 0 on (default: 0)")
    parser.add_argument(
        "--entry", type=whole(0), metavar="I", help="of the cache, from 0 on (default: the newest)"
    )
    add_sampling(parser)


def run(args: argparse.Namespace) -> int:
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        tokenizer = load_tokenizer(args.model, gpt)
        _check(args, gpt.config)
        prompt = given_prompt(tokenizer, args.prompt)
        sampler = make_sampler(args.temperature, args.top_k, args.seed or 0)
        session = Session(gpt, tokenizer, prompt, sampler=sampler)
        below = session.window_full_at - session.length
        if args.policy != Recompute.name and args.n <= below:
            raise CommandError(
                f"--policy {args.policy} is the real model until the text is past the limit: "
                f"give -n at least {below + 1:,}, not {args.n:,}"
            )
        for _ in range(args.n):
            session.step()
        session.inspect(Cursor(NAMES[args.policy].name, args.layer, args.head, args.entry))
        snapshot = session.snapshot()
    inspection = snapshot.inspection
    assert inspection is not None, "it was asked for"
    if args.entry not in (None, inspection.entry):
        raise CommandError(f"--entry {args.entry} is not stored yet: there are 0 to {inspection.entry}")
    if args.json:
        write_json({"text": snapshot.text, **inspection_data(inspection)})
    else:
        write(_report(inspection))
    return 0


def _check(args: argparse.Namespace, config: GPTConfig) -> None:
    """Raise CommandError for a place that the model does not have."""
    for name, count in (("layer", config.n_layer), ("head", config.n_head), ("entry", config.block_size)):
        if (number := getattr(args, name)) is not None and number >= count:
            raise CommandError(f"--{name} must be from 0 to {count - 1} for this model, not {number}")


def inspection_data(inspection: Inspection) -> dict[str, Any]:
    """What the inspector shows, as JSON has it."""
    entries = zip(inspection.characters, inspection.positions.tolist(), strict=True)
    layers = zip(inspection.key_differences, inspection.value_differences, inspection.exact, strict=True)
    return {
        "policy": inspection.cursor.policy,
        "layer": inspection.cursor.layer,
        "head": inspection.cursor.head,
        "entry": inspection.entry,
        "entries": [{"character": character, "computed_at": position} for character, position in entries],
        "attention": inspection.attention.tolist(),
        "key": inspection.key.tolist(),
        "value": inspection.value.tolist(),
        "key_norm": float(np.linalg.norm(inspection.key)),
        "value_norm": float(np.linalg.norm(inspection.value)),
        "layers": [
            {"max_abs_dk": finite(float(dk)), "max_abs_dv": finite(float(dv)), "exact": exact}
            for dk, dv, exact in layers
        ],
        "logits": {
            "max_abs_diff": finite(inspection.logit_difference),
            "max_abs_logit": finite(inspection.max_abs_logit),
            "exact": inspection.logits_exact,
        },
    }


def _report(inspection: Inspection) -> str:
    """The strongest attention of each head, the entry's two vectors, and each layer's differences."""
    cursor = inspection.cursor
    lines = [f"{POLICY_LABELS[cursor.policy]}, layer {cursor.layer}: what the newest character reads"]
    for head, attention in enumerate(inspection.attention):
        order = np.argsort(-attention, kind="stable")[:STRONGEST]
        strongest = (f"{i} '{visible(inspection.characters[i])}' {attention[i]:.2f}" for i in order)
        lines.append(f"  head {head}: " + ", ".join(strongest))
    glyph, at = visible(inspection.characters[inspection.entry]), inspection.positions[inspection.entry]
    lines.append(f"entry {inspection.entry} '{glyph}', computed at position {at}; head {cursor.head}:")
    lines.append(f"  |K| {np.linalg.norm(inspection.key):.2f}, |V| {np.linalg.norm(inspection.value):.2f}")
    lines.append("largest difference from a full pass")
    layers = zip(inspection.key_differences, inspection.value_differences, inspection.exact, strict=True)
    for layer, (dk, dv, exact) in enumerate(layers):
        lines.append(f"  layer {layer}: |dK| {dk:.0e}, |dV| {dv:.0e}, {_verdict(exact)}")
    logits = f"{inspection.logit_difference:.0e}, {_verdict(inspection.logits_exact)}"
    return "\n".join([*lines, f"  logits: {logits}"]) + "\n"


def _verdict(exact: bool) -> str:
    return "rounding" if exact else "WRONG"
