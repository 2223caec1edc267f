"""`kvtui verify`: the exactness checks, each against the full forward pass."""

import argparse
from contextlib import nullcontext
from dataclasses import asdict

from kvtui.loading import load_model, model_at_work
from kvtui.machine import single_blas_thread
from kvtui.output import finite, write, write_json
from model.comparison import TOLERANCES
from model.experiments.exactness import Check, exactness
from model.faults import FAULTS, Fault


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Every path to the logits is held against the full forward pass, on a text that the model "
        "writes. Differences count as rounding up to a share of the largest logit. The exit status is "
        "1 when a check fails."
    )
    parser.add_argument(
        "--with-fault",
        choices=[fault.name for fault in FAULTS],
        metavar="NAME",
        help="put a fault into the engine, to see which checks notice it (kvtui faults lists them)",
    )


def run(args: argparse.Namespace) -> int:
    show = (lambda text: None) if args.json else write
    fault = next((fault for fault in FAULTS if fault.name == args.with_fault), None)
    during = fault.active if fault else nullcontext
    checks: list[Check] = []
    with single_blas_thread(), model_at_work():
        gpt = load_model(args.model, args.dtype)
        show(f"{'path':34} {'steps':>5}  {'largest difference':>18}  {'of largest logit':>16}\n")
        for check in exactness(gpt, args.seed or 0, during):
            checks.append(check)
            show(_row(check))
    passed = all(check.passed for check in checks)
    tolerance = TOLERANCES[str(gpt.dtype)]
    if args.json:
        with_fault = {"fault": fault.name} if fault else {}
        entries = [_entry(check) for check in checks]
        write_json({"passed": passed, "tolerance": tolerance, "checks": entries, **with_fault})
    elif fault:
        write(_noticed(fault, checks))
    else:
        worst = max(map(_share, checks))
        verdict = "all paths agree" if passed else "FAILED"
        write(f"{verdict}: {worst:.1e} of the largest logit at worst, {tolerance:.0e} allowed\n")
    return 0 if passed else 1


def _noticed(fault: Fault, checks: list[Check]) -> str:
    noticing = [check.name for check in checks if not check.passed]
    places = " and ".join(place for place, _ in fault.patches)
    where = f"it is in {places}; paths that do not go there stay right\n"
    if not noticing:
        return f"no check notices {fault.name} in this model; {where}"
    names = "; ".join(noticing)
    return f"{fault.name} is noticed by {len(noticing)} of {len(checks)} checks: {names}; {where}"


def _share(check: Check) -> float:
    return check.max_abs_diff / check.max_abs_logit if check.max_abs_diff else 0.0


def _row(check: Check) -> str:
    verdict = "ok" if check.passed else "FAILED"
    return (
        f"{check.name:34} {check.steps:5}  {check.max_abs_diff:18.1e}  {_share(check):16.1e}  {verdict}\n"
    )


def _entry(check: Check) -> dict[str, object]:
    return {
        **asdict(check),
        "max_abs_diff": finite(check.max_abs_diff),
        "max_abs_logit": finite(check.max_abs_logit),
    }
