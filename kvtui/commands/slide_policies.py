"""`kvtui slide --policies`: a table of the limit policies, each held against the real model."""

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from kvtui.errors import CommandError, one_line
from kvtui.figures import binary_size, count, milliseconds, percent
from kvtui.output import say, write, write_json
from kvtui.prompts import encode_prompt
from kvtui.table import Table
from kvtui.visual import POLICY_LABELS, Look
from model.corpus import decoded
from model.experiments.policies import STARTS, PolicyRow, Spread, given_texts, policy_rows, written_texts
from model.files import read_bytes
from model.gpt import GPT
from model.limit import POLICIES, LimitPolicy, Refill
from model.tokenizer import CharTokenizer


def option_name(name: str) -> str:
    """A policy's name as an option has it; options take the name that JSON has, too."""
    return name.replace(" ", "-")


NAMES = {option_name(policy.name): policy for policy in POLICIES}
HEADINGS = ("policy", "agreement", "mean KL", "max KL", "bits/char", "mean step", "cache")
SAWTOOTH = 64  # steps that are drawn


def named_policies(text: str) -> tuple[type[LimitPolicy], ...]:
    """The type of an option that takes names of policies, separated by commas; or all of them."""
    names = NAMES if text == "all" else dict.fromkeys(option_name(name.strip()) for name in text.split(","))
    if unknown := [name for name in names if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"must be all, or some of {','.join(NAMES)}, not {unknown[0]!r}")
    return tuple(NAMES[name] for name in names)


def run_policies(args: argparse.Namespace, gpt: GPT, tokenizer: CharTokenizer) -> None:
    starts, texts = _texts(args, gpt, tokenizer)
    rows = policy_rows(gpt, _told(texts, starts), args.policies)
    if args.json:
        name = None if args.text is None else args.text.name
        entries = [_entry(row) for row in rows]
        write_json({"policies": entries, "starts": starts, "steps": args.steps, "text": name})
    else:
        write(_method(args, starts) + _table([_cells(row) for row in rows]))
        write("".join(_sawtooth(row.step_seconds) for row in rows if row.name == Refill.name))


def _texts(
    args: argparse.Namespace, gpt: GPT, tokenizer: CharTokenizer
) -> tuple[int, Iterable[Sequence[int]]]:
    """How many texts the policies are to read, and these."""
    starts = args.starts or STARTS
    if args.text is None:
        prompt = encode_prompt(tokenizer, args.prompt)
        return starts, written_texts(gpt, prompt, starts, args.steps, args.seed or 0)
    text = _read(args.text)
    try:
        texts = given_texts(gpt, tokenizer.encode(text), starts, args.steps)
    except ValueError as error:
        raise CommandError(f"{args.text}: {error}") from None
    return len(texts), texts


def _read(path: Path) -> str:
    try:
        return decoded(read_bytes(path), path)
    except ValueError as error:
        raise CommandError(str(error)) from None


def _told(texts: Iterable[Sequence[int]], starts: int) -> Iterator[Sequence[int]]:
    """The texts, progress told with each."""
    for number, text in enumerate(texts, 1):
        say(f"starting point {number:,} of {starts:,}")
        yield text


def _method(args: argparse.Namespace, starts: int) -> str:
    """How the figures below it were obtained."""
    texts = "texts that the real model draws" if args.text is None else one_line(args.text.name)
    each = count(args.steps, "step")
    return (
        f"{count(starts, 'starting point')} in {texts}, {each} past the limit from each\n"
        "warm-up left out; means (smallest - largest of a starting point); KL(real || policy) in nats\n"
    )


def _table(rows: Sequence[Sequence[str]]) -> str:
    """The rows in columns as wide as their widest cell."""
    columns = zip(HEADINGS, *rows, strict=True)
    table = Table(*(column[0].rjust(max(map(len, column))) for column in columns))
    return table.head() + "".join(map(table.row, rows))


def _cells(row: PolicyRow) -> list[str]:
    return [
        POLICY_LABELS[row.name],
        _spread(row.agreement, percent),
        _spread(row.mean_kl, _decimals),
        "-" if row.max_kl is None else _decimals(row.max_kl),
        _spread(row.bits_per_character, _decimals),
        "-" if row.seconds_per_step is None else milliseconds(row.seconds_per_step),
        binary_size(row.cache_bytes),
    ]


def _spread(spread: Spread | None, shown: Callable[[float], str]) -> str:
    """The mean, and the range where one is seen."""
    if spread is None:
        return "-"
    mean, low, high = map(shown, (spread.mean, spread.low, spread.high))
    return mean if low == high else f"{mean} ({low} - {high})"


def _decimals(figure: float) -> str:
    return f"{figure:.3f}"


def _sawtooth(seconds: Sequence[float]) -> str:
    """A refill's first steps, as heights on one linear scale."""
    shown = seconds[:SAWTOOTH]
    longest, usual = milliseconds(max(shown)), milliseconds(median(shown))
    return f"refill: {Look().sparkline(shown)} {longest} at most, median {usual}\n"


def _entry(row: PolicyRow) -> dict[str, Any]:
    spreads = {
        "agreement": row.agreement,
        "mean_kl": row.mean_kl,
        "bits_per_character": row.bits_per_character,
    }
    means = {name: spread and spread.mean for name, spread in spreads.items()}
    return {
        "name": row.name,
        "agreement": means["agreement"],
        "mean_kl": means["mean_kl"],
        "max_kl": row.max_kl,
        "bits_per_character": means["bits_per_character"],
        "ms_per_step": None if row.seconds_per_step is None else row.seconds_per_step * 1e3,
        "cache_bytes": row.cache_bytes,
        "ranges": {name: spread and [spread.low, spread.high] for name, spread in spreads.items()},
        "step_ms": [seconds * 1e3 for seconds in row.step_seconds],
    }
