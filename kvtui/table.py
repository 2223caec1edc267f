"""Tables for people: right-aligned columns under their headings."""

from collections.abc import Sequence


class Table:
    """Writes rows one at a time, so that each is seen as soon as it is measured."""

    def __init__(self, *headings: str) -> None:
        self.headings = headings
        self.widths = [max(len(heading), 8) for heading in headings]

    def head(self) -> str:
        return self.row(self.headings)

    def row(self, cells: Sequence[str]) -> str:
        return "  ".join(f"{cell:>{width}}" for cell, width in zip(cells, self.widths, strict=True)) + "\n"
