"""`kvtui bench`: the measured claims, as tables that anyone can make anew."""

import argparse
import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, TypeVar

from kvtui.figures import binary_size, count, milliseconds, times
from kvtui.loading import load_model, load_tokenizer, model_at_work
from kvtui.machine import Machine, blas_threads
from kvtui.options import add_common, real, whole
from kvtui.output import say, write, write_json
from kvtui.prompts import encode_prompt
from kvtui.table import Table
from model.experiments import generations, memory, steps
from model.experiments.counting import balance_context
from model.experiments.timing import Timing
from model.gpt import GPT

LARGEST_CONTEXT = 2**20
Row = TypeVar("Row")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    kinds = parser.add_subparsers(title="what to measure", metavar="WHAT", required=True)
    for name, summary, add, run_kind in (
        ("steps", "time per step, with the cache and without", _add_steps, run_steps),
        ("memory", "cache bytes, and the peak of one step", _add_memory, run_memory),
        ("generate", "whole texts: cached, uncached, autograd engine", _add_generate, run_generate),
    ):
        kind = kinds.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        add(kind)
        kind.add_argument("--threads", type=whole(1, 1024), default=1, help="BLAS threads (default: 1)")
        kind.add_argument("--csv", action="store_true", help="print comma-separated values")
        kind.set_defaults(run_kind=run_kind)
        add_common(kind)


def run(args: argparse.Namespace) -> int:
    gpt = load_model(args.model, args.dtype)
    with blas_threads(args.threads), model_at_work():
        status: int = args.run_kind(args, gpt)
    return status


# Time per step


def _add_steps(parser: argparse.ArgumentParser) -> None:
    _add_contexts(parser, steps.CONTEXTS)
    parser.add_argument(
        "--seconds",
        type=real("above 0", lambda x: x > 0),
        default=steps.SECONDS,
        metavar="S",
        help=f"for each figure (default: {steps.SECONDS:g})",
    )
    parser.add_argument("--plot", action="store_true", help="draw a chart below the table")


def run_steps(args: argparse.Namespace, gpt: GPT) -> int:
    table = Table("context", "cached", "128 rows", "all at once", "speed-up", "counted", "weights", "runs")
    show = _writer(args)
    show(
        _method(gpt, "best to median; speed-up over 128 rows, by medians; runs of the cached step")
        + table.head()
    )
    rows: list[steps.StepRow] = []
    for row in _kept(
        steps.step_times(gpt, args.contexts, seconds=args.seconds), rows, "context", args.contexts
    ):
        show(
            table.row(
                [
                    f"{row.context:,}",
                    _range(row.cached),
                    _range(row.uncached_blocked),
                    _range(row.uncached_all),
                    times(row.speedup) if row.speedup else "-",
                    times(row.multiply_add_ratio),
                    "random" if row.random_weights else "trained",
                    f"{row.cached.runs:,}",
                ]
            )
        )
    ours, random = steps.trained_and_random(gpt, args.seconds)
    balance = balance_context(gpt.config)
    show(
        f"the step at {gpt.config.block_size:,}, measured again in turns: {_range(ours)} with the model's "
        f"weights, {_range(random)} with random ones\n"
        f"in multiply-adds, attention over the cache equals the layers' matrices at "
        f"{balance:,} tokens\n"
    )
    data = [_step_entry(row) for row in rows]
    if args.plot and not args.json and not args.csv:
        write(_plot(rows, gpt.config.block_size))
    compared = {"context": gpt.config.block_size, "model_ms": _ms(ours), "random_weights_ms": _ms(random)}
    return _finish(args, data, weights=compared, attention_equals_rest_at=balance)


def _step_entry(row: steps.StepRow) -> dict[str, Any]:
    return {
        "context": row.context,
        "cached_ms": _ms(row.cached),
        "uncached_all_ms": _ms(row.uncached_all),
        "uncached_blocked_ms": _ms(row.uncached_blocked),
        "speedup": row.speedup,
        "multiply_add_ratio": row.multiply_add_ratio,
        "random_weights": row.random_weights,
    }


def _plot(rows: list[steps.StepRow], limit: int) -> str:
    from kvtui import chart

    kinds = {chart.CACHED: "cached", chart.BLOCKED: "uncached_blocked", chart.ALL: "uncached_all"}
    curves = [
        chart.Series(
            colour, [(r.context, t.median * 1e3) for r in rows if (t := getattr(r, kind))], curve=True
        )
        for colour, kind in kinds.items()
    ]
    lines = chart.chart(curves, limit, 80, 20)
    return "\n".join(["ms against context, both logarithmic", *map(chart.without_colours, lines), ""])


# Memory


def _add_memory(parser: argparse.ArgumentParser) -> None:
    _add_contexts(parser, memory.CONTEXTS)


def run_memory(args: argparse.Namespace, gpt: GPT) -> int:
    table = Table("context", "cache", "cached step", "128 rows", "predicted", "all at once", "predicted")
    show = _writer(args)
    per_token = gpt.config.bytes_per_token(gpt.dtype.itemsize)
    crossover = memory.crossover_tokens(gpt.config, gpt.dtype.itemsize, gpt.nbytes)
    show(
        _method(gpt, "peak of one step as NumPy reports it, weights and cache left out")
        + f"{per_token:,} bytes per token; the model takes {binary_size(gpt.nbytes)}, "
        f"less than the cache from {crossover:,} tokens on\n" + table.head()
    )
    rows: list[memory.MemoryRow] = []
    for row in _kept(memory.memory_rows(gpt, args.contexts), rows, "context", args.contexts):
        peaks = (row.uncached_blocked_peak, row.uncached_all_peak)
        sizes = [binary_size(n) for peak in peaks for n in (peak.measured, peak.predicted)]
        show(
            table.row(
                [
                    f"{row.context:,}",
                    binary_size(row.cache_bytes),
                    binary_size(row.cached_peak.measured),
                    *sizes,
                ]
            )
        )
    if rows:
        for what, predicted in (
            ("128 rows", rows[-1].uncached_blocked_peak),
            ("all at once", rows[-1].uncached_all_peak),
        ):
            show(f"{what} at {rows[-1].context:,}, predicted: {_terms(predicted.terms)}\n")
    long = memory.long_prefill(gpt)
    for peak in long:
        measured = (
            "not run: it might not fit"
            if peak.measured is None
            else f"measured {binary_size(peak.measured)}"
        )
        show(
            f"prefill of {peak.context:,} tokens, {peak.step_size:,} at a time: "
            f"predicted {binary_size(peak.predicted)} ({_terms(peak.terms)}), {measured}\n"
        )
    return _finish(
        args,
        [_memory_entry(row) for row in rows],
        bytes_per_token=per_token,
        model_bytes=gpt.nbytes,
        crossover_tokens=crossover,
        prefill=[asdict(peak) | {"predicted": peak.predicted} for peak in long],
    )


def _terms(terms: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {binary_size(n)}" for name, n in terms.items())


def _memory_entry(row: memory.MemoryRow) -> dict[str, Any]:
    return {
        "context": row.context,
        "cache_bytes": row.cache_bytes,
        "cached_peak_bytes": row.cached_peak.measured,
        "uncached_all_peak_bytes": row.uncached_all_peak.measured,
        "uncached_all_predicted": row.uncached_all_peak.terms,
        "uncached_blocked_peak_bytes": row.uncached_blocked_peak.measured,
        "uncached_blocked_predicted": row.uncached_blocked_peak.terms,
    }


# Whole texts


def _add_generate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", type=_numbers, default=generations.LENGTHS, metavar="N,N", help="characters")


def run_generate(args: argparse.Namespace, gpt: GPT) -> int:
    prompt = encode_prompt(load_tokenizer(args.model, gpt), None)
    table = Table("characters", "cached", "128 rows", "autograd")
    show = _writer(args)
    limit = gpt.config.block_size
    show(_method(gpt, "one run each, greedy, prefill included") + table.head())
    rows: list[generations.GenerationRow] = []
    for row in _kept(generations.generation_rows(gpt, prompt, args.n), rows, "characters", args.n):
        seconds = (row.cached_s, row.uncached_s, row.autograd_s)
        show(table.row([f"{row.tokens:,}", *map(milliseconds, seconds)]))
    show(f"past {limit:,} characters the cached model recomputes its window, and saves little\n")
    return _finish(args, [asdict(row) for row in rows])


# Common to all


def _add_contexts(parser: argparse.ArgumentParser, default: tuple[int, ...]) -> None:
    listed = ",".join(map(str, default))
    parser.add_argument(
        "--contexts", type=_numbers, default=default, metavar="N,N", help=f"(default: {listed})"
    )


def _numbers(text: str) -> tuple[int, ...]:
    """The type of an option that takes whole numbers, separated by commas."""
    return tuple(map(whole(1, LARGEST_CONTEXT), text.split(",")))


def _kept(rows: Iterable[Row], kept: list[Row], what: str, numbers: tuple[int, ...]) -> Iterator[Row]:
    """The rows as they come, progress told before each; Ctrl-C ends them and keeps what there is."""
    iterator = iter(rows)
    for number in numbers:
        say(f"measuring {what} {number:,}")
        try:
            row = next(iterator)
        except KeyboardInterrupt:
            say("interrupted: what follows is what was measured so far")
            return
        kept.append(row)
        yield row


def _writer(args: argparse.Namespace) -> Callable[[str], None]:
    return (lambda text: None) if args.json or args.csv else write


def _method(gpt: GPT, what: str) -> str:
    """How the figures below it were obtained."""
    here = Machine.here()
    threads = count(here.blas_threads, "thread") if here.blas_threads else "threads that it does not tell"
    return (
        f"{here.processor}, {here.blas} with {threads}, NumPy {here.numpy}, {gpt.dtype}\n"
        f"warm-up left out; {what}\n"
    )


def _finish(args: argparse.Namespace, rows: list[dict[str, Any]], **more: Any) -> int:
    here = Machine.here()
    if args.json:
        write_json({"machine": asdict(here), "blas_threads": here.blas_threads, **more, "rows": rows})
    elif args.csv and rows:
        flat = [_flat(row) for row in rows]
        text = io.StringIO()
        writer = csv.DictWriter(text, flat[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
        write(text.getvalue())
    return 0


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """A row whose nested figures have columns of their own."""
    cells: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            cells |= {f"{name}_{key}": number for key, number in value.items()}
        else:
            cells[name] = value
    return cells


def _ms(timing: Timing | None) -> dict[str, float | int] | None:
    if timing is None:
        return None
    return {"best": timing.best * 1e3, "median": timing.median * 1e3, "runs": timing.runs}


def _range(timing: Timing | None) -> str:
    """From the best to the median, in one unit."""
    if timing is None:
        return "-"
    best, median = milliseconds(timing.best), milliseconds(timing.median)
    if best.split()[1] == median.split()[1]:
        best = best.split()[0]
    return median if best == median.split()[0] else f"{best} - {median}"
