"""What all panels have in common: they are given a view, and draw it into the room that they have."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.cells import cell_len
from rich.segment import Segment
from textual.cache import LRUCache
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from kvtui.curves import Curves
from kvtui.inspecting import Inspection
from kvtui.snapshot import CacheContent, Candidate, PolicyState, Snapshot
from kvtui.visual import Look

Line = Content | Strip  # a styled text, or one whose colours are made already


@dataclass(frozen=True, slots=True)
class View:
    """A snapshot, and how it is to be shown."""

    snapshot: Snapshot
    pair: tuple[str, str] | None  # the limit policies that stand side by side; None: the real model alone
    running: bool
    look: Look
    curves: Curves
    measuring: int | None  # the context whose curve is being measured
    word: str | None  # on what was asked last, in place of what the last step did
    steps_per_second: float  # of a run; 0 is as fast as it goes
    sampling: str  # how characters are chosen
    stop: int | None  # of the guided tour

    def candidates(self, name: str) -> tuple[Candidate, ...]:
        """What a limit policy expects next. Until the text is past the limit, all are the real model."""
        if name in self.snapshot.ended:
            return ()
        state = self.snapshot.policy(name)
        return state.candidates if state else self.snapshot.candidates

    def cache(self, name: str) -> CacheContent:
        state = self.snapshot.policy(name)
        return state.cache if state else self.snapshot.cache

    @property
    def inspection(self) -> Inspection:
        """What the inspector looks at; its screen shows no view without."""
        assert self.snapshot.inspection is not None, "nobody looks into the cache"
        return self.snapshot.inspection

    @property
    def shown_beside(self) -> list[PolicyState]:
        """The policies other than the real model's that are shown and have begun to differ from it."""
        states = map(self.snapshot.policy, self.pair or ())
        return [state for state in states if state]


class ViewWidget(Widget):
    """Draws a view line by line, and repaints only the cells that differ from the view before.

    That is what a step costs on the screen: most of it stays as it is.
    """

    ALLOW_SELECT = False
    view: View | None = None

    def __init__(self, name: str | None = None) -> None:
        super().__init__(id=name)
        self._waiting: View | None = None
        self._drawn: list[Strip] | None = None
        self._drawn_size = Size()
        # Turning styled text into strips is most of the work, and most lines stay as they were.
        self._known: LRUCache[object, Strip] = LRUCache(200)

    def show(self, view: View) -> None:
        """Show a view: at once, or where there is time, the newest of several after a moment."""
        seconds = self.patience(view) if self.view else 0
        if seconds and not self._waiting:
            self.set_timer(seconds, self._show_waiting)
        self._waiting = view
        if not seconds:
            self._show_waiting()

    def patience(self, view: View) -> float:
        """For how many seconds a view can wait for the next, to be drawn as one."""
        return 0

    def _show_waiting(self) -> None:
        view, self._waiting = self._waiting, None
        if view is None or view == self.view:
            return
        self.view = view
        self._repaint()

    def _repaint(self) -> None:
        """Draw, and have painted what came out differently."""
        before = self._drawn
        if before is None or not self.is_on_screen or self._drawn_size != self.content_size:
            self.redraw()
            return
        self._drawn = self._draw()
        spans = map(changed, before, self._drawn)
        if regions := [Region(x, y, width, 1) for y, (x, width) in enumerate(spans) if width]:
            self.refresh(*regions)

    def redraw(self) -> None:
        """Draw everything anew."""
        self._drawn = None
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if self._drawn is None or self._drawn_size != self.content_size:
            self._drawn = self._draw()
        return self._drawn[y]

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._known.clear()
        self.redraw()

    def _draw(self) -> list[Strip]:
        """As many lines as there is height, each as long as there is width."""
        self._drawn_size = width, height = self.content_size
        lines = self.lines(self.view, width, height)[:height] if self.view and width and height else []
        return [self.strip(line, width) for line in [*lines, *[Content()] * (height - len(lines))]]

    def strip(self, line: Line, width: int | None = None) -> Strip:
        """A line in the colours of the widget; cut, with a sign of it, or filled up to a width."""
        style = self.visual_style.rich_style
        if isinstance(line, Strip):
            return line if width is None else line.adjust_cell_length(width, style)
        key = line.plain, tuple(line.spans), width
        if (strip := self._known.get(key)) is None:
            if width is not None:
                line = cut(line, width, self.view.look.ellipsis if self.view else "")
            strip = Strip(line.render_segments(self.visual_style), line.cell_length)
            strip = self._known[key] = strip.adjust_cell_length(width or strip.cell_length, style)
        return strip

    def lines(self, view: View, width: int, height: int) -> Sequence[Line]:
        """The content, in at most `height` lines of `width` cells."""
        raise NotImplementedError


class Panel(ViewWidget, can_focus=True):
    """A titled box. Subclasses say what is in it, for a view and a size."""

    COMPONENT_CLASSES = {"panel--frame", "panel--title", "panel--note"}
    DEFAULT_CSS = """
    Panel {
        & > .panel--frame { color: $foreground 25%; }
        & > .panel--title { color: $foreground; text-style: bold; }
        & > .panel--note { color: $foreground 60%; }
        &:focus > .panel--frame { color: $primary; }
        &:ansi {
            & > .panel--frame { color: ansi_bright_black; }
            & > .panel--note { color: ansi_default; }
            &:focus > .panel--frame { color: ansi_blue; }
        }
    }
    """

    framed = True

    def lines(self, view: View, width: int, height: int) -> Sequence[Line]:
        if not self.framed:
            return self.body(view, width, height)
        if not _holds_a_box(width, height):
            return []
        look = view.look
        frame, note = (self.get_visual_style(f"panel--{part}") for part in ("frame", "note"))
        _, _, lower_left, lower_right, across, down = look.frame
        inner = [self.strip(line, width - 4) for line in self.body(view, width - 4, height - 2)]
        inner += [self.strip(Content(), width - 4)] * (height - 2 - len(inner))
        left, right = Segment(f"{down} ", frame.rich_style), Segment(f" {down}", frame.rich_style)
        reading = cut(Content.styled(self.subtitle(view), note), width - 6, look.ellipsis)
        bottom = _edge(lower_left, lower_right, across, reading, True, width, frame)
        boxed = (Strip([left, *strip, right], width) for strip in inner[: height - 2])
        return [self._top(self._waiting or view, width), *boxed, bottom]

    def retitle(self) -> None:
        """Paint the title of a view that waits; all else stays."""
        width, height = self._drawn_size
        boxed = self.framed and _holds_a_box(width, height)
        if self._drawn and self._waiting and boxed and self.is_on_screen:
            before, self._drawn[0] = self._drawn[0], self.strip(self._top(self._waiting, width), width)
            x, differing = changed(before, self._drawn[0])
            if differing:
                self.refresh(Region(x, 0, differing, 1))

    def _top(self, view: View, width: int) -> Content:
        frame, title = (self.get_visual_style(f"panel--{part}") for part in ("frame", "title"))
        upper_left, upper_right, _, _, across, _ = view.look.frame
        heading = cut(Content.styled(self.title(view), title), width - 6, view.look.ellipsis)
        return _edge(upper_left, upper_right, across, heading, False, width, frame)

    def title(self, view: View) -> str:
        """What the panel shows, and how much of it."""
        raise NotImplementedError

    def subtitle(self, view: View) -> str:
        """How it is to be read."""
        return ""

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        """What is in the box, in at most `height` lines of `width` cells."""
        raise NotImplementedError


def _holds_a_box(width: int, height: int) -> bool:
    return width >= 6 and height >= 3


def _edge(
    start: str, end: str, across: str, label: Content, at_end: bool, width: int, frame: Style
) -> Content:
    """The upper or lower edge of a box, a label near one of its ends."""
    label = Content.assemble(" ", label, " ") if label else label
    rest = across * (width - 3 - label.cell_length)
    before, after = (rest, across) if at_end else (across, rest)
    return Content.assemble((start + before, frame), label, (after + end, frame))


def cut(line: Content, width: int, ellipsis: str) -> Content:
    """A line in no more than so many cells; where it is longer, its end is a sign of that."""
    if line.cell_length <= width:
        return line
    return Content.assemble(line.truncate(max(0, width - cell_len(ellipsis))), (ellipsis, "dim"))


def paragraph(text: str, width: int, height: int, ellipsis: str) -> list[Content]:
    """A text in no more than so many lines; where it is longer, its end is a sign of that."""
    lines = Content(text).wrap(width)
    if len(lines) > height:
        rest = Content(" ").join(lines[height - 1 :])
        lines = [*lines[: height - 1], cut(rest, width, ellipsis)]
    return lines


def fitting(width: int, *lines: Content) -> Content:
    """The first of some ways to say it that fits; otherwise the last, which is the shortest."""
    return next((line for line in lines if line.cell_length <= width), lines[-1])


def spread(left: Content, right: Content, width: int) -> Content:
    """Left and right at the two ends of a line; the right part gives way where both do not fit."""
    gap = width - left.cell_length - right.cell_length
    return left if gap < 2 else Content.assemble(left, " " * gap, right)


def changed(before: Strip, after: Strip) -> tuple[int, int]:
    """The first cell in which two strips of equal length differ, and how many from it to the last.

    All cells, where a character has not exactly one: what it takes can depend on its neighbours.
    """
    if before == after:
        return 0, 0
    if not (_one_cell_each(before.text) and _one_cell_each(after.text)):
        return 0, after.cell_length
    pairs = zip(_cells(before), _cells(after), strict=True)
    differing = [x for x, (old, new) in enumerate(pairs) if old != new]
    return (differing[0], differing[-1] + 1 - differing[0]) if differing else (0, 0)


def _one_cell_each(text: str) -> bool:
    return text.isascii() or all(cell_len(character) == 1 for character in set(text))


def _cells(strip: Strip) -> list[tuple[str, object]]:
    return [(character, style) for text, style, _ in strip for character in text]


def joined(parts: Iterable[tuple[str, str]]) -> Content:
    """Styled pieces of text as one; neighbours of the same style need only one change of colours."""
    runs = groupby(parts, key=lambda part: part[1])
    return Content.assemble(*(("".join(text for text, _ in run), style) for style, run in runs))
