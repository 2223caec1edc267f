"""`kvtui generate`: text after a prompt, and the time of each step."""

import argparse
from statistics import median

from kvtui.figures import milliseconds
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.options import add_sampling, whole
from kvtui.output import say, write, write_json
from kvtui.prompts import encode_prompt
from model.generate import Continuation, Timed, Uncached, generate
from model.limit import Recompute
from model.sampling import make_sampler
from model.tokenizer import CharTokenizer


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Times are the model's alone, on one BLAS thread: the prefill, and one step for each new "
        "character. The first calls of a process are slow: a prefill and a step that are not counted "
        "come before. A prompt that begins with a dash goes behind all options and --."
    )
    parser.add_argument("prompt", metavar="PROMPT", help="the text to continue")
    parser.add_argument("-n", type=whole(0), default=200, metavar="N", help="characters (default: 200)")
    add_sampling(parser)
    parser.add_argument(
        "--no-cache", action="store_true", help="a full forward pass for each character, for comparison"
    )


def run(args: argparse.Namespace) -> int:
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        tokenizer = load_tokenizer(args.model, gpt)
        prompt = encode_prompt(tokenizer, args.prompt)
        # 128 rows at a time: the fair baseline
        model = _warmed_up(Uncached(gpt, block_rows=128) if args.no_cache else Recompute(gpt), prompt)
        tokens = _generate(args, model, tokenizer, prompt)
    if args.json:
        write_json(
            {
                "prompt": args.prompt,
                "text": tokenizer.decode(tokens),
                "tokens": tokens,
                "prefill_ms": model.prefill_seconds * 1e3,
                "step_ms": [seconds * 1e3 for seconds in model.step_seconds],
            }
        )
    else:
        cached = 0 if args.no_cache else max(0, gpt.config.block_size - len(prompt))
        say(_times(model, cached))
    return 0


def _warmed_up(model: Continuation, prompt: list[int]) -> Timed:
    """The model ready to be timed, after a prefill and a step that are not."""
    model.start(prompt)
    model.step([*prompt, prompt[-1]])
    return Timed(model)


def _generate(
    args: argparse.Namespace, model: Timed, tokenizer: CharTokenizer, prompt: list[int]
) -> list[int]:
    """The new tokens; for people, the text is written as it comes."""
    show = (lambda text: None) if args.json else write
    sampler = make_sampler(args.temperature, args.top_k, args.seed or 0)
    tokens: list[int] = []
    show(args.prompt)
    for generated in generate(model, prompt, args.n, sampler):
        tokens.append(generated.token)
        show(tokenizer.decode(tokens[-1:]))
    show("\n")
    return tokens


def _times(model: Timed, cached: int) -> str:
    """In words; the first `cached` steps went through the cache, the others over the whole window."""
    parts = [f"prefill {milliseconds(model.prefill_seconds)}"]
    for kind, steps in (("cached", model.step_seconds[:cached]), ("uncached", model.step_seconds[cached:])):
        if steps:
            parts.append(f"{len(steps):,} {kind} steps, median {milliseconds(median(steps))}")
    return " · ".join(parts)
