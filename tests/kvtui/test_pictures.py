"""The screen in many states, sizes and themes is as in its pictures, which are text.

A picture has the characters of the screen. Some have a letter for the style of each cell as well, and what
the letters stand for.
"""

import difflib
import os
import re
import string
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.cells import cell_len
from textual.strip import Strip

from kvtui.app import KvtuiApp
from kvtui.panels.step_time import StepTimePanel
from kvtui.session import Session
from kvtui.snapshot import Baseline
from kvtui.visual import Look
from model import GPT, GPTConfig, forward_uncached
from model.limit import Recompute
from model.tokenizer import CharTokenizer

FOLDER = Path(__file__).with_name("pictures")
ANEW = "KVTUI_NEW_PICTURES"
HOW = f"If the screen is right, make its pictures anew: {ANEW}=1 pytest tests/kvtui/test_pictures.py"

# As many layers, heads, positions and characters as the model that comes with the program.
CONFIG = GPTConfig(n_layer=4, n_head=4, n_embd=16, block_size=128, vocab_size=65)
CHARACTERS = "\n !$&',-.3:;?" + string.ascii_uppercase + string.ascii_lowercase
PROMPT = "ROMEO:\n"

LETTERS = string.ascii_letters + string.digits
ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")
ROUNDING = re.compile(r"\de-1\d")  # how the last bits are rounded is the BLAS's
SEEN_ON_BLANKS = {"underline", "reverse", "strike"}


class Picture(NamedTuple):
    size: tuple[int, int]
    keys: str = ""
    theme: str = "kvtui-dark"
    look: Look = Look()
    no_color: bool = False
    styles: bool = False  # not where the cache is full: it has more shades than there are letters


SLID = "l n space space space"
PICTURES = {
    "start": Picture((120, 40), styles=True),
    "start-light": Picture((100, 34), theme="kvtui-light", styles=True),
    "baseline": Picture((120, 40), "u space space space"),
    "baseline-ascii": Picture((100, 34), "u u space space space", look=Look(ascii=True)),
    "slid-ansi": Picture((120, 40), SLID, "ansi-dark", styles=True),
    "slid-no-color": Picture((100, 34), "l u n space space space", no_color=True, styles=True),
    "slid-80": Picture((80, 24), SLID, "kvtui-light"),
    "slid-80-times": Picture((80, 24), "l u n space space space v", "kvtui-light", styles=True),
    "slid-60": Picture((60, 15), SLID, styles=True),
    "slid-60-cache": Picture((60, 15), f"{SLID} v", look=Look(ascii=True)),
    "slid-40": Picture((40, 12), SLID),
    "zoomed": Picture((100, 34), "space tab tab z"),
    "tour": Picture((120, 40), "t enter"),
    "tour-80": Picture((80, 24), "t enter enter"),
    "tour-60": Picture((60, 15), "t"),
    "tour-40": Picture((40, 12), "t"),
    "help": Picture((80, 24), "question_mark"),
    "prompt": Picture((80, 24), "p O ! é"),
    "sampling": Picture((60, 15), "s right down right"),
    "memory": Picture((100, 34), "space c down right"),
    "memory-40": Picture((40, 12), "c"),
    "inspector": Picture((120, 40), "space space i up h left left"),
    "inspector-80": Picture((80, 24), f"{SLID} i", "kvtui-light"),
    "policies": Picture((120, 40), "l d space space space"),
    "policies-80": Picture((80, 24), "l d space space space", look=Look(ascii=True)),
    "side-by-side": Picture((100, 34), "l o o O space space"),
    "faults": Picture((120, 40), "space space f down enter space space"),
    "faults-80": Picture((80, 24), "f", look=Look(ascii=True)),
}


class Clock:
    """Some tenths of a millisecond pass with every reading, and more where a whole window is computed."""

    def __init__(self):
        self.now, self._ticks = 0.0, cycle([0.3e-3, 0.4e-3, 0.3e-3, 0.6e-3, 0.5e-3])

    def __call__(self):
        self.now += next(self._ticks)
        return self.now

    def slowed(self, function):
        def slow(*arguments):
            self.now += 4e-3
            return function(*arguments)

        return slow


@pytest.fixture
def make_app(perturbed, monkeypatch):
    """Makes the app of a picture; what it shows depends on neither time nor machine."""
    clock = Clock()
    monkeypatch.setattr("kvtui.session.forward_uncached", clock.slowed(forward_uncached))
    monkeypatch.setattr(Recompute, "step_past_limit", clock.slowed(Recompute.step_past_limit))
    monkeypatch.setattr("kvtui.session.blas_threads_in_use", lambda: 1)
    # How the last bits are rounded is the BLAS's.
    monkeypatch.setattr("kvtui.session.Baseline", lambda mode, took, *_: Baseline(mode, took, 4e-16, 2.0))

    async def never_ready(panel):
        """Releases of plotext draw differently: no picture has the chart."""

    monkeypatch.setattr(StepTimePanel, "_prepare", never_ready)
    monkeypatch.setattr(StepTimePanel, "patience", lambda *_: 0)

    def make(picture):
        monkeypatch.delenv("NO_COLOR", raising=False)
        if picture.no_color:
            monkeypatch.setenv("NO_COLOR", "1")
        # So strong that the text is varied, and that the naive slide shows.
        parameters = perturbed(CONFIG, seed=1).parameters.items()
        gpt = GPT(CONFIG, {name: 2 * p if name.endswith("weight") else p for name, p in parameters})
        session = Session(gpt, CharTokenizer(CHARACTERS), PROMPT, "tiny", clock=clock)
        app = KvtuiApp(session, picture.look)
        app.theme = picture.theme
        return app

    return make


@pytest.mark.parametrize("name", PICTURES)
async def test_the_screen_looks_as_in_its_picture(make_app, name):
    picture = PICTURES[name]
    app = make_app(picture)
    async with app.run_test(size=picture.size) as pilot:
        for key in picture.keys.split():
            await pilot.press(key)
            await app.settled()
        await pilot.pause()
        now = drawn(app, picture.styles)
    path = FOLDER / f"{name}.txt"
    if ANEW in os.environ:
        path.write_text(now, encoding="utf-8", newline="\n")
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    if now != before:
        names = f"pictures/{path.name}", "the screen"
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), *names, lineterm="")
        pytest.fail("\n".join([*lines, "", HOW]), pytrace=False)


def test_every_picture_is_of_a_test():
    assert {path.name for path in FOLDER.glob("*.txt")} == {f"{name}.txt" for name in PICTURES}


def drawn(app, styles):
    """The screen as text. Blanks at the ends of lines are left out, as many editors would."""
    # As App.export_screenshot has it, which is public but makes an SVG.
    update = app.screen._compositor.render_update(full=True, screen_stack=app._background_screens)
    lines = [Strip.join(strips) for strips in update.strips]
    parts = [[ROUNDING.sub("#e-##", line.text.rstrip()) for line in lines]]
    if styles:
        letters = {}
        parts.append(["".join(_letter(cell, letters) for cell in _cells(line)) for line in lines])
        parts.append([f"{letter} {style}" for style, letter in letters.items()])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _letter(style, letters):
    return letters.setdefault(style, LETTERS[len(letters) :][:1] or "?")


def _cells(line):
    """What there is to see of the style of each cell, in words."""
    for text, style, _ in line:
        front, back = (colour.name if colour else "default" for colour in (style.color, style.bgcolor))
        attributes = [name for name in ATTRIBUTES if getattr(style, name)]
        full = " ".join([*attributes, front, "on", back])
        blank = full if SEEN_ON_BLANKS & set(attributes) else f"on {back}"
        for character in text:
            yield from [blank if character == " " else full] * cell_len(character)
