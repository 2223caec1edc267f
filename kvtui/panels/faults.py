"""Faults on purpose: the list of them, and what the one that is on does."""

from collections.abc import Sequence

from textual.content import Content

from kvtui.faulty import FaultyState, Meter
from kvtui.figures import count
from kvtui.panels.panel import Line, Panel, View, paragraph
from kvtui.snapshot import Snapshot
from kvtui.visual import BRIGHT, CACHED, DIM, NAIVE, Look
from model.faults import FAULTS, Fault

TEXTS = 4  # lines that both texts take at least, with their headings


class FaultListPanel(Panel):
    chosen: Fault = FAULTS[0]

    def title(self, view: View) -> str:
        return "Faults on purpose"

    def subtitle(self, view: View) -> str:
        return "enter: on/off, one at a time"

    def choose(self, by: int) -> None:
        self.chosen = FAULTS[(FAULTS.index(self.chosen) + by) % len(FAULTS)]
        self.redraw()

    def _first(self, height: int) -> int:
        """The fault in the first line: the chosen one is always to be seen."""
        at = FAULTS.index(self.chosen)
        return min(max(0, at - height // 2), max(0, len(FAULTS) - height))

    def at_line(self, y: int) -> int | None:
        """How many faults below the chosen one the one in a line of the panel is, its frame counted."""
        number = self._first(self.content_size.height - 2) + y - 1
        within = 0 < y < self.content_size.height - 1 and number < len(FAULTS)
        return number - FAULTS.index(self.chosen) if within else None

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        first, faulty = self._first(height), view.snapshot.faulty
        lines: list[Line] = []
        for fault in FAULTS[first : first + height]:
            on = faulty is not None and faulty.fault == fault
            mark = view.look.mark(NAIVE) if on else " "
            style = f"bold {NAIVE.style}" if on else "$foreground"
            if fault == self.chosen:
                style = "reverse " + style
            lines.append(Content.styled(f"{mark} {fault.name:{max(0, width - 2)}}", style))
        return lines


class FaultPanel(Panel):
    """What the fault is; and where it is on, what comes of it."""

    chosen: Fault = FAULTS[0]

    def title(self, view: View) -> str:
        return self.chosen.name

    def subtitle(self, view: View) -> str:
        return "in a second run from the same prompt"

    def choose(self, fault: Fault) -> None:
        self.chosen = fault
        self.redraw()

    def body(self, view: View, width: int, height: int) -> Sequence[Line]:
        snapshot, look = view.snapshot, view.look
        what: list[Line] = list(paragraph(self.chosen.what, width, 6, look.ellipsis))
        source = paragraph(f"Seen in {self.chosen.seen_in}", width, 3, look.ellipsis)
        about = [*what, Content(), *(Content.styled(line.plain, DIM) for line in source)]
        faulty = snapshot.faulty
        if faulty is None or faulty.fault != self.chosen:
            return [*about, Content(), Content.styled("It is off: press enter.", BRIGHT)]
        meters: list[Line] = [_meter(meter, look) for meter in faulty.meters]
        if faulty.behind:
            note = f"The second run follows: {count(faulty.behind, 'character')} to go."
            meters.append(Content.styled(note, BRIGHT))
        elif snapshot.past_limit and not any(meter.notices for meter in faulty.meters[:-1]):
            note = (
                "Past the limit all is computed anew at every step; whatever was wrong in the cache goes."
            )
            meters += [Content.styled(line.plain, DIM) for line in paragraph(note, width, 2, look.ellipsis)]
        room = height - len(meters) - 2
        if len(about) > room - TEXTS:
            left = room - TEXTS
            about = [*paragraph(self.chosen.what, width, left, look.ellipsis)] if left > 0 else []
        if about:
            about.append(Content())
        texts = _texts(snapshot, faulty, look, width, height - len(about) - len(meters) - 1)
        return [*about, *meters, Content(), *texts]


def _meter(meter: Meter, look: Look) -> Content:
    idea, mark = (NAIVE, look.differ) if meter.notices else (CACHED, look.agree)
    return Content.assemble(
        (f"{mark} {meter.name:16}", f"bold {idea.style}"), (meter.reading, BRIGHT if meter.notices else DIM)
    )


def _texts(snapshot: Snapshot, faulty: FaultyState, look: Look, width: int, room: int) -> list[Content]:
    """The end of both texts, in half of the room each, from where they part in colour."""
    sound_text, faulty_text = snapshot.text, snapshot.prompt + faulty.generated
    at = len(sound_text) if faulty.differs_at is None else faulty.differs_at
    rows = max(1, room // 2 - 1)
    first = max(0, min(at - width // 2, len(sound_text) - rows * width))
    lines = []
    for idea, label, text in (
        (CACHED, "sound", sound_text),
        (NAIVE, f"with the fault, {faulty.fault.name}", faulty_text),
    ):
        lines.append(Content.styled(f"{look.mark(idea)} {label}", f"bold {idea.style}"))
        shown = "".join(map(look.glyph, text[first:at])), "".join(map(look.glyph, text[at:]))
        content = Content.assemble((shown[0], DIM), (shown[1], f"bold {idea.style}"))
        lines += [content[start : start + width] for start in range(0, len(content), width)][:rows]
    return lines
