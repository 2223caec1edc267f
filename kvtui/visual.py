"""The visual language: a few ideas, each with one colour of the theme and one mark, everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Idea:
    mark: str
    ascii_mark: str
    style: str  # a colour variable of the theme


CACHED = Idea("●", "*", "$success")
UNCACHED = Idea("○", "o", "$warning")
ALL_AT_ONCE = Idea("◌", "@", "$accent")  # uncached as well, with all scores in memory
REAL = Idea("◆", "#", "$primary")
NAIVE = Idea("◇", "%", "$error")

SINKS = Idea("◈", "$", "$accent")
REFILL = Idea("◉", "&", "$success")
STOP = Idea("■", "!", "$warning")

# The limit policies, by their names.
POLICY_IDEAS = {
    "recompute": REAL,
    "naive slide": NAIVE,
    "attention sinks": SINKS,
    "refill": REFILL,
    "stop": STOP,
}
POLICY_SHORT = dict(zip(POLICY_IDEAS, ("real", "naive", "sinks", "refill", "stop"), strict=True))
POLICY_LABELS = {name: name for name in POLICY_IDEAS} | {"recompute": "real model"}

DIM = "dim"
BRIGHT = "bold $foreground"


GLYPHS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
ASCII_GLYPHS = {" ": "_"}


def visible(character: str, in_ascii: bool = False) -> str:
    """A character as something that can be seen and does nothing."""
    glyph = (ASCII_GLYPHS if in_ascii else GLYPHS).get(character)
    return glyph or (character if character.isprintable() else repr(character)[1:-1])


@dataclass(frozen=True)
class Look:
    """How things are drawn: with block characters or in ASCII; with shades, or with heights alone."""

    ascii: bool = False
    shades: bool = True  # false where the theme has only the terminal's own 16 colours
    colours: bool = True  # false where there are only greys: then marks alone tell ideas apart

    def mark(self, idea: Idea) -> str:
        return idea.ascii_mark if self.ascii else idea.mark

    def glyph(self, character: str) -> str:
        """A character so that it can be seen: blanks and control characters have a glyph."""
        return visible(character, self.ascii)

    @property
    def heights(self) -> str:
        """A ramp from the least to the most."""
        return "123456789" if self.ascii else "▁▂▃▄▅▆▇█"

    def sparkline(self, numbers: Sequence[float]) -> str:
        """A height for each number, from nothing to the largest."""
        largest, top = max(numbers, default=0) or 1.0, len(self.heights) - 1
        return "".join(self.heights[round(number / largest * top)] for number in numbers)

    @property
    def more(self) -> str:
        """What a place in a strip is where its number is larger."""
        return "stronger" if self.shades and not self.ascii else "higher"

    @property
    def agree(self) -> str:
        return "=" if self.ascii else "✓"

    @property
    def differ(self) -> str:
        return "x" if self.ascii else "✗"

    @property
    def dot(self) -> str:
        """What stands between two facts on a line."""
        return "|" if self.ascii else "·"

    @property
    def ellipsis(self) -> str:
        """What stands where a line was cut."""
        return "~" if self.ascii else "…"

    @property
    def frame(self) -> tuple[str, ...]:
        """The signs of a box: its two upper and two lower corners, across and down."""
        return tuple("++++-|" if self.ascii else "╭╮╰╯─│")

    @property
    def empty(self) -> str:
        """A place in the cache that holds nothing yet."""
        return "." if self.ascii else "·"

    def bar(self, share: float, width: int) -> str:
        """A bar of `width` cells at share 1, in eighths of a cell; never empty for more than nothing."""
        if self.ascii:
            return "-" * max(share > 0, round(share * width))
        eighths = max(int(share > 0), round(share * width * 8))
        return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]
