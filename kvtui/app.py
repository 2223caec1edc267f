"""The screen: keys go to the session on its thread, its snapshots to the panels."""

import argparse
import asyncio
import time
from collections.abc import Callable

from textual.app import App, ComposeResult
from textual.binding import Binding
from textual.containers import Container
from textual.events import Resize
from textual.widgets import Static

from kvtui.engine_thread import EngineThread
from kvtui.keys import KeyBar
from kvtui.loading import load_model, load_tokenizer
from kvtui.machine import single_blas_thread
from kvtui.panels.cache import CachePanel
from kvtui.panels.header import HeaderLine
from kvtui.panels.latency import LatencyPanel
from kvtui.panels.next_character import NextCharacterPanel
from kvtui.panels.panel import Panel, View
from kvtui.panels.sentence import Sentence
from kvtui.panels.step_time import StepTimePanel
from kvtui.panels.text import TextPanel
from kvtui.prompts import DEFAULT_PROMPT, encode_prompt
from kvtui.screens.help import HelpScreen
from kvtui.screens.prompt import PromptScreen
from kvtui.session import Session
from kvtui.snapshot import Snapshot
from kvtui.themes import DARK, LIGHT
from kvtui.visual import Look
from model.gpt import BUNDLED
from model.sampling import make_sampler

STEPS_PER_SECOND = 20.0  # while running
SLICE = 0.03  # seconds of engine work between two pictures, where it goes as fast as it can

# What a key asks of the session. It returns a word for the user, an action that is to follow, or nothing.
Action = Callable[[Session], "str | Action | None"]


class KvtuiApp(App[None]):
    """A session on screen.

    One coroutine drives it: it takes an action, has the engine's thread carry it out, shows the new
    snapshot, and waits until that is painted before it takes the next. So the engine never computes
    while the screen draws, and the step times hold nothing of the drawing.
    """

    TITLE = "kvtui"
    CSS_PATH = "app.tcss"
    AUTO_FOCUS = ""
    BINDINGS = [
        Binding("space,right", "step", "Step: the next character"),
        Binding("b,left", "step_back", "Back one step"),
        Binding("r", "run", "Run, and pause"),
        Binding("l", "limit", "Go to the limit"),
        Binding("n", "naive", "Naive slide on and off"),
        Binding("u", "baseline", "Baseline: off, blocked, all at once"),
        Binding("p", "prompt", "Another prompt"),
        Binding("v", "view", "The other panels, in a small window"),
        Binding("question_mark,f1", "help", "Help"),
        Binding("q", "quit", "Quit"),
    ]

    def __init__(self, session: Session, look: Look | None = None) -> None:
        super().__init__()
        self.session = session
        self.snapshot: Snapshot = session.snapshot()
        self.look = look or Look()
        self.naive_shown = False
        self.running = False
        self._engine = EngineThread()
        self._actions: asyncio.Queue[Action] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = DARK.name

    def compose(self) -> ComposeResult:
        yield HeaderLine()
        with Container(id="panels"):
            yield TextPanel(id="text")
            yield NextCharacterPanel(id="next")
            yield CachePanel(id="cache")
            yield LatencyPanel(id="latency")
            yield StepTimePanel(id="step-time")
        yield Static("The panels need a window of 60 x 15.", id="size-note")
        yield Sentence()
        yield KeyBar()

    def on_mount(self) -> None:
        if self.look.ascii:
            self.query(Panel).add_class("-ascii")
        self._show()
        self.run_worker(self._drive(), group="engine")

    # Showing

    def _show(self) -> None:
        view = View(self.snapshot, self.naive_shown, self.running, self._themed_look())
        for panel in self.query(Panel):
            panel.show(view)
        self.query_one(HeaderLine).show(view)
        self.query_one(Sentence).show(view)

    def _themed_look(self) -> Look:
        """Shades are mixed colours; a theme of the terminal's own 16 has none to mix."""
        return Look(ascii=self.look.ascii, shades=not self.current_theme.ansi and not self.no_color)

    def watch_theme(self) -> None:
        if self.is_running:
            self._show()

    def on_resize(self, event: Resize) -> None:
        """Choose the layout that the window has room for."""
        wide = event.size.width >= 100 and event.size.height >= 34
        tiny = event.size.width < 60 or event.size.height < 15
        self.set_class(wide, "-all")
        self.set_class(not wide and not tiny, "-some")
        self.set_class(tiny, "-tiny")
        bar = self.query_one(KeyBar)
        bar.hidden = frozenset() if not wide and not tiny else frozenset("v")
        bar.refresh()

    # Driving

    async def _drive(self) -> None:
        """Carry out actions one after the other, and steps while running."""
        while True:
            if not self.running and self._actions.empty():
                self._wake.clear()
                self._idle.set()
                await self._wake.wait()
                self._idle.clear()
            begin = time.perf_counter()
            if not self._actions.empty():
                await self._carry_out(self._actions.get_nowait())
            elif self.running:
                await self._carry_out(Session.step)
                await self._pause(1 / STEPS_PER_SECOND - (time.perf_counter() - begin))

    async def _pause(self, seconds: float) -> None:
        """Wait, but not longer than until an action comes."""
        self._wake.clear()
        if seconds > 0 and self._actions.empty():
            try:
                await asyncio.wait_for(self._wake.wait(), seconds)
            except TimeoutError:
                return

    async def _carry_out(self, action: Action) -> None:
        """One action on the engine's thread; then show what came of it, and let it be painted."""

        def act() -> tuple[str | Action | None, Snapshot]:
            outcome = action(self.session)
            return outcome, self.session.snapshot()

        try:
            outcome, self.snapshot = await self._engine.call(act)
        except Exception as error:  # whatever goes wrong in the engine, the program goes on
            self.running = False
            self.notify(f"{type(error).__name__}: {error}", severity="error", markup=False)
            return
        if isinstance(outcome, str):
            self.notify(outcome, markup=False)
        elif outcome is not None:
            self._submit(outcome)
        self._show()
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        await painted.wait()

    async def settled(self) -> None:
        """Wait until every action so far is carried out and painted."""
        await self._idle.wait()

    def _submit(self, action: Action) -> None:
        self._actions.put_nowait(action)
        self._idle.clear()
        self._wake.set()

    # Actions

    def action_step(self) -> None:
        self._submit(Session.step)

    def action_step_back(self) -> None:
        self._stop_running()
        self._submit(
            lambda session: None if session.back() else "This is the prompt: there is no step to undo."
        )

    def action_run(self) -> None:
        self.running = not self.running
        self._show()
        self._wake.set()

    def action_limit(self) -> None:
        """Steps until the window is full."""
        self._stop_running()
        self._submit(
            lambda session: (
                toward_limit(session)
                if session.length < session.window_full_at
                else "The window is full already; b goes back."
            )
        )

    def action_naive(self) -> None:
        self.naive_shown = not self.naive_shown
        self._show()

    def action_baseline(self) -> None:
        self._submit(lambda session: session.set_baseline(session.baseline_mode.next))

    def action_view(self) -> None:
        self.toggle_class("-second")

    def action_prompt(self) -> None:
        self._stop_running()

        def begin(prompt: str | None) -> None:
            if prompt is not None:
                self._submit(lambda session: session.begin(prompt))

        limit = self.snapshot.model.block_size
        self.push_screen(PromptScreen(self.snapshot.prompt, self._objection, limit), begin)

    def _objection(self, prompt: str) -> str | None:
        """What is wrong with a prompt."""
        if not prompt:
            return "A prompt needs at least one character."
        unknown = self.session.tokenizer.unknown(prompt)
        return f"The model does not know {' '.join(map(repr, unknown[:8]))}." if unknown else None

    def action_help(self) -> None:
        focused = self.focused
        title = focused.title(focused.view) if isinstance(focused, Panel) and focused.view else None
        self.push_screen(HelpScreen(self.look, title))

    def _stop_running(self) -> None:
        if self.running:
            self.running = False
            self._show()


def toward_limit(session: Session) -> Action | None:
    """A slice of the way to the limit, so that the screen shows how the cache fills."""
    end = time.perf_counter() + SLICE
    while session.length < session.window_full_at:
        session.step()
        if time.perf_counter() >= end:
            return toward_limit
    return None


def run_screen(args: argparse.Namespace) -> int:
    """Load a model, open the screen, and return the exit status. Raises CommandError for bad input."""
    gpt = load_model(args.model, args.dtype)
    tokenizer = load_tokenizer(args.model, gpt)
    encode_prompt(tokenizer, args.prompt)  # a bad prompt is told on the command line
    prompt = DEFAULT_PROMPT if args.prompt is None else args.prompt
    name = (args.model or BUNDLED).resolve().name
    sampler = make_sampler(args.temperature, args.top_k, args.seed or 0)
    with single_blas_thread():
        app = KvtuiApp(Session(gpt, tokenizer, prompt, name, sampler), Look(ascii=args.ascii))
        app.run()
    return app.return_code or 0
