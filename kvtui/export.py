"""A run as files: everything as JSON, a line per step as CSV, the screen as a picture."""

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kvtui.machine import Machine
from kvtui.output import finite
from kvtui.snapshot import PolicyState, Snapshot
from model.files import write_bytes_whole
from model.limit import NaiveSlide


def export_run(
    snapshot: Snapshot, characters: Sequence[str], sampling: str, picture: str, stem: Path
) -> None:
    """Write STEM.json, STEM.csv and STEM.svg: all of them or none. Raises OSError."""
    steps = list(steps_of(snapshot, characters))
    model = snapshot.model
    run = {
        "model": model.name,
        "dtype": model.dtype,
        "positions": model.block_size,
        "machine": asdict(Machine.here()),
        "sampling_now": sampling,
        "prompt": snapshot.prompt,
        "text": snapshot.text,
        "prefill_ms": snapshot.prefill_seconds * 1e3,
        "steps": steps,
        "policies": [_policy(state, characters) for state in snapshot.beside],
    }
    table = io.StringIO()
    writer = csv.DictWriter(table, STEP_KEYS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(steps)
    _write_all(
        {
            stem.with_name(f"{stem.name}.json"): json.dumps(run, allow_nan=False, indent=1) + "\n",
            stem.with_name(f"{stem.name}.csv"): table.getvalue(),
            stem.with_name(f"{stem.name}.svg"): picture,
        }
    )


def _policy(state: PolicyState, characters: Sequence[str]) -> dict[str, Any]:
    """What a policy beside the real model predicted, at each step past the limit, and what it took."""
    comparisons = state.comparisons
    measured = zip(comparisons, comparisons.seconds.tolist(), comparisons.bits.tolist(), strict=True)
    return {
        "name": state.name,
        "agree": comparisons.agreed,
        "mean_kl": finite(comparisons.mean_kl),
        "max_kl": finite(comparisons.max_kl),
        "per_step": [
            {
                "position": comparison.position,
                "real": characters[comparison.real],
                "other": characters[comparison.other],
                "agree": comparison.agree,
                "kl": finite(comparison.kl),
                "bits": finite(bits),
                "ms": seconds * 1e3,
            }
            for comparison, seconds, bits in measured
        ],
    }


def _write_all(texts: dict[Path, str]) -> None:
    written = []
    try:
        for path, text in texts.items():
            write_bytes_whole(path, text.encode("utf-8"))
            written.append(path)
    except BaseException:
        for path in written:
            path.unlink()
        raise


STEP_KEYS = (
    "position", "character", "taken", "ms", "recomputed", "uncached_ms", "max_abs_diff",
    "naive_ms", "real", "naive", "agree", "kl",
)  # fmt: skip


def steps_of(snapshot: Snapshot, characters: Sequence[str]) -> Iterator[dict[str, Any]]:
    """For each step what was measured; past the limit also what both models chose next."""
    naive = snapshot.policy(NaiveSlide.name)
    first_past = len(snapshot.steps) - snapshot.slides
    for i, (step, character) in enumerate(zip(snapshot.steps, snapshot.generated, strict=True)):
        row: dict[str, Any] = dict.fromkeys(STEP_KEYS)
        row |= {"position": step.position, "character": character, "ms": step.seconds * 1e3}
        row |= {"taken": step.taken, "recomputed": step.recomputed}
        if step.baseline:
            row |= {"uncached_ms": step.baseline.seconds * 1e3, "max_abs_diff": step.baseline.max_abs_diff}
        if naive and i >= first_past:
            comparison = naive.comparisons[i - first_past]
            row["naive_ms"] = float(naive.comparisons.seconds[i - first_past]) * 1e3
            row |= {"real": characters[comparison.real], "naive": characters[comparison.other]}
            row |= {"agree": comparison.agree, "kl": finite(comparison.kl)}
        yield row
