"""The measured curves: time per step against context, kept from one start to the next."""

import asyncio
import hashlib
import json
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

import model
from kvtui import __version__
from kvtui.machine import Machine
from model.files import write_bytes_whole

QUICK_CONTEXTS, QUICK_SECONDS = (16, 64, 128, 512), 0.2
LONG_CONTEXTS, LONG_SECONDS = (1024, 2048, 4096, 8192, 16384), 1.0

KINDS = ("cached_ms", "uncached_blocked_ms", "uncached_all_ms")

Point = tuple[float, float]  # context, milliseconds (the median)


@dataclass(frozen=True)
class Curves:
    """Rows of `kvtui bench steps`, one for each context."""

    rows: tuple[dict[str, Any], ...] = ()

    def points(self, kind: str) -> list[Point]:
        """The curve of one kind, by context; contexts at which it was not measured are left out."""
        measured = [row for row in self.rows if row[kind]]
        return sorted((row["context"], row[kind]["median"]) for row in measured)

    def with_row(self, row: dict[str, Any]) -> "Curves":
        """With a row added, in place of an older one of the same context."""
        return Curves((*(r for r in self.rows if r["context"] != row["context"]), row))

    @property
    def contexts(self) -> set[int]:
        return {row["context"] for row in self.rows}


class CurveStore:
    """Measures curves in a process of their own, and keeps them in a file of a folder.

    They hold for one machine, one version of everything that computes, and one model.
    """

    def __init__(self, folder: Path, model_directory: Path | None, dtype: str) -> None:
        self.model_directory, self.dtype = model_directory, dtype
        self.key = _key(model_directory, dtype)
        self.path = folder / f"curves-{hashlib.sha256(self.key.encode()).hexdigest()[:16]}.json"

    @classmethod
    def of_user(cls, model_directory: Path | None, dtype: str) -> "CurveStore":
        return cls(user_cache_path("kvtui"), model_directory, dtype)

    def load(self) -> Curves:
        """What is kept for this machine and model: nothing where there is nothing, or nothing readable."""
        try:
            kept = json.loads(self.path.read_text(encoding="utf-8"))
            curves = Curves(tuple(kept["rows"]))
            for kind in KINDS:
                curves.points(kind)
            return curves if kept["key"] == self.key else Curves()
        except (OSError, ValueError, KeyError, TypeError):
            return Curves()

    def save(self, curves: Curves) -> None:
        """Raises OSError where the file cannot be written."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"key": self.key, "rows": curves.rows})
        write_bytes_whole(self.path, text.encode("utf-8"))

    async def measure(self, contexts: Sequence[int], seconds: float) -> AsyncIterator[dict[str, Any]]:
        """Yield a row for each context. Cancelling it ends the process. Raises OSError if one fails."""
        for context in contexts:
            command = [sys.executable, "-m", "kvtui", "bench", "steps", "--json", "--dtype", self.dtype]
            command += ["--contexts", str(context), "--seconds", str(seconds)]
            command += ["--model", str(self.model_directory)] if self.model_directory else []
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            try:
                out, err = await process.communicate()
            finally:
                if process.returncode is None:
                    process.kill()
            if process.returncode:
                raise OSError(err.decode(errors="replace").strip() or f"exit status {process.returncode}")
            yield json.loads(out)["rows"][0]


def _key(model_directory: Path | None, dtype: str) -> str:
    """Names what the times depend on: the machine, the versions, the engine's own code, the model."""
    engine = hashlib.sha256()
    for path in sorted(Path(model.__file__).parent.glob("*.py")):
        engine.update(path.read_bytes())
    machine = asdict(Machine.here()) | {"blas_threads": 1}
    where = str(model_directory.resolve()) if model_directory else ""
    return json.dumps([machine, __version__, engine.hexdigest(), where, dtype])
