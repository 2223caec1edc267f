"""Sampling: how the next character is chosen."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from textual.content import Content

from kvtui.screens.rows import RowsScreen
from kvtui.visual import DIM
from model.sampling import Sampler, make_sampler

ALL = "all"


@dataclass(frozen=True)
class Sampling:
    """As the options of the command line give it."""

    temperature: float = 0.0
    top_k: int | None = None
    seed: int = 0

    def sampler(self) -> Sampler:
        return make_sampler(self.temperature, self.top_k, self.seed)

    def __str__(self) -> str:
        if not self.temperature or self.top_k == 1:
            return "the likeliest is taken"
        top = f", top {self.top_k}" if self.top_k else ""
        return f"drawn at temperature {self.temperature:g}{top}, seed {self.seed}"


class SamplingScreen(RowsScreen):
    TITLE = "Sampling"

    def __init__(self, sampling: Sampling) -> None:
        temperatures = {round(0.1 * i, 1) for i in range(21)} | {sampling.temperature}
        tops = {1, 2, 3, 5, 10, 20, 40} | ({sampling.top_k} if sampling.top_k else set())
        rows: dict[str, Sequence[Any]] = {
            "temperature": sorted(temperatures),
            "top k": [ALL, *sorted(tops)],
            "seed": sorted({*range(100), sampling.seed}),
        }
        values = {
            "temperature": sampling.temperature,
            "top k": sampling.top_k or ALL,
            "seed": sampling.seed,
        }
        super().__init__(rows, values)

    @property
    def sampling(self) -> Sampling:
        top_k = self.values["top k"]
        return Sampling(self.values["temperature"], None if top_k == ALL else top_k, self.values["seed"])

    def content(self) -> Content:
        notes = {
            "temperature": "0 takes the likeliest, 1 draws as the model predicts",
            "top k": "draw from the k likeliest",
            "seed": "another one draws another text",
        }
        says = f"From here on {self.sampling}.", "A draw depends on seed and position alone."
        return Content("\n").join(
            [*self.lines(notes), Content(), *(Content.styled(line, DIM) for line in says)]
        )
