"""The screen: keys go to the session on its thread, its snapshots to the panels."""

import asyncio
import gc
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.screen import Screen

from kvtui.actions import next_baseline, one_back, take, word_at_limit
from kvtui.curves import (
    LONG_CONTEXTS,
    LONG_SECONDS,
    QUICK_CONTEXTS,
    QUICK_SECONDS,
    Curves,
    CurveStore,
)
from kvtui.errors import explain
from kvtui.export import export_run
from kvtui.figures import count, speed
from kvtui.keys import KEYS
from kvtui.panels.panel import Panel, View
from kvtui.screens.lab import LabScreen
from kvtui.screens.main import MainScreen
from kvtui.screens.rows import Values, turned
from kvtui.screens.sampling import Sampling, SamplingScreen
from kvtui.screens.view_screen import ViewScreen
from kvtui.session import Session
from kvtui.settings import Settings, load_settings, save_settings
from kvtui.snapshot import Snapshot
from kvtui.stepper import Stepper
from kvtui.themes import DARK, LIGHT
from kvtui.tour import STOPS
from kvtui.visual import POLICY_LABELS, Look
from model.limit import POLICIES, NaiveSlide, Recompute

NAIVE_PAIR = (Recompute.name, NaiveSlide.name)
SPEEDS = (1.0, 2.0, 4.0, 8.0, 16.0, 0.0)  # steps a second of a run; the last is as fast as it goes

TOUR_BEGINS_ANEW = "The tour begins anew with the prompt, and this text goes: press t again for that."

Result = TypeVar("Result")


class KvtuiApp(App[None]):
    """A session on screen. Other screens are imported when asked for: the first picture need not wait."""

    TITLE = "kvtui"
    CSS_PATH = Path(__file__).with_name("app.tcss")
    AUTO_FOCUS = ""
    BINDINGS = [
        *(Binding(key.names, key.action, key.description) for key in KEYS),
        Binding("enter", "next_stop", "The next stop of the tour"),
        Binding("escape", "leave", "Leave the tour, or the zoomed panel"),
    ]

    def __init__(
        self,
        session: Session,
        look: Look | None = None,
        curve_store: CurveStore | None = None,
        sampling: Sampling | None = None,
        settings_path: Path | None = None,
        tour: bool = False,
    ) -> None:
        """Without a `curve_store` no curves are measured; without a `settings_path` nothing is kept."""
        super().__init__()
        self.sampling = sampling or Sampling()
        self.settings_path = settings_path
        settings, self._complaints = load_settings(settings_path) if settings_path else (Settings(), [])
        known = settings.steps_per_second in SPEEDS
        steps_per_second = settings.steps_per_second if known else Settings().steps_per_second
        self.stepper = Stepper(session, steps_per_second, self._show, self._painted, self._complain)
        self.stop: int | None = None
        self._tour = tour
        self._tour_asked_at: int | None = None  # the length of the text that a tour would do away with
        self.curve_store = curve_store
        self.curves = curve_store.load() if curve_store else Curves()
        self.measuring: int | None = None
        self.look = look or Look()
        self.main = MainScreen(settings.zoomed)
        self.pair = NAIVE_PAIR
        self.pair_shown = False
        for theme in (DARK, LIGHT):
            self.register_theme(theme)
        self.theme = settings.theme if settings.theme in self.available_themes else DARK.name

    @property
    def session(self) -> Session:
        return self.stepper.session

    @property
    def snapshot(self) -> Snapshot:
        return self.stepper.snapshot

    async def settled(self) -> None:
        """Wait until every action so far is carried out and painted."""
        await self.stepper.settled()

    def get_default_screen(self) -> MainScreen:
        return self.main

    def on_mount(self) -> None:
        self._show()
        self.run_worker(self.stepper.work(), group="engine")
        if not self.is_headless:
            # After a stop and SIGCONT the terminal's screen is empty, whatever was painted before.
            self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
            # What is there now stays. To look through all of it for garbage would stop a run for 0.1 s.
            self.set_timer(1, gc.freeze)
        for complaint in self._complaints:
            self.notify(complaint, severity="warning", markup=False)
        if self._tour:
            self.call_after_refresh(self.action_tour)
        if self.curve_store and not self.curves.rows:
            self._begin_measuring(QUICK_CONTEXTS, QUICK_SECONDS)

    def action_command_palette(self) -> None:
        if self.size.height > 4:  # its list needs a line: Textual's own keys fail in less
            super().action_command_palette()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """Every action of the main screen, and what Textual brings."""
        for key in KEYS:
            if key.action != "quit":  # Textual brings that
                yield SystemCommand(
                    key.description, f"key: {key.shown}", partial(self.run_action, key.action)
                )
        for command in super().get_system_commands(screen):
            if command.title in ("Theme", "Quit"):
                yield command

    # Showing

    def _show(self) -> None:
        look = self._themed_look()
        shown = [screen for screen in self.screen_stack if isinstance(screen, ViewScreen)]
        (shown or [self.main])[-1].show(
            View(
                self.snapshot,
                self.pair if self.pair_shown else None,
                self.stepper.running,
                look,
                self.curves,
                self.measuring,
                self.stepper.word,
                self.stepper.steps_per_second,
                str(self.sampling),
                self.stop,
            )
        )

    async def _painted(self) -> None:
        """Wait until what was shown is on the screen."""
        painted = asyncio.Event()
        self.call_after_refresh(painted.set)
        await painted.wait()

    def _complain(self, error: Exception) -> None:
        self.notify(f"{type(error).__name__}: {error}", severity="error", markup=False)

    def _say(self, word: str) -> None:
        """Put a word in place of what the last step did."""
        self.stepper.word = word
        self._show()

    def _themed_look(self) -> Look:
        """Shades are mixed colours; a theme of the terminal's own 16 has none to mix."""
        shades = not self.current_theme.ansi and not self.no_color
        return replace(self.look, shades=shades, colours=not self.no_color)

    def watch_theme(self) -> None:
        if self.is_running:
            self._show()
            self._remember()

    # Actions

    def action_step(self) -> None:
        """One step; or what is going on, paused."""
        if not self.stepper.stop():
            self.stepper.submit(Session.step)

    def action_step_back(self) -> None:
        self.stepper.stop()
        self.stepper.submit(one_back)

    def action_run(self) -> None:
        """Run, or stop what is going on."""
        if not self.stepper.stop():
            self.stepper.run()

    def action_limit(self) -> None:
        """Go on until the window is full; again, or any other key that steps, stops it."""
        if self.stepper.to_limit:
            self.stepper.stop()
        else:
            self.stepper.stop()
            self.stepper.submit(word_at_limit)
            self.stepper.run_to_limit()

    def action_faster(self, by: int = 1) -> None:
        self.stepper.steps_per_second = turned(SPEEDS, self.stepper.steps_per_second, by)
        self._say(f"Speed of a run: {speed(self.stepper.steps_per_second)}.")
        self._remember()

    def action_slower(self) -> None:
        self.action_faster(-1)

    def action_naive(self) -> None:
        self.pair_shown = not self.pair_shown or self.pair != NAIVE_PAIR
        self.pair, self.stepper.word = NAIVE_PAIR, None
        self._show()

    def action_other(self, side: int, by: int) -> None:
        """Put the next limit policy on one side."""
        pair = list(self.pair)
        if self.pair_shown:
            names = [policy.name for policy in POLICIES if policy.name != pair[1 - side]]
            pair[side] = names[(names.index(pair[side]) + by) % len(names)]
        self.pair, self.pair_shown = (pair[0], pair[1]), True
        self._say(f"Side by side: {POLICY_LABELS[pair[0]]} and {POLICY_LABELS[pair[1]]}, on the same text.")

    def action_take(self, rank: int) -> None:
        """Append another of the candidates than the model's choice."""
        seen = self.snapshot.length if self.stepper.stop() else None
        self.stepper.submit(partial(take, rank=rank, length=seen))

    def action_inspect(self) -> None:
        from kvtui.screens.inspector import InspectorScreen

        self._visit(InspectorScreen(self.stepper.submit))

    def action_policies(self) -> None:
        from kvtui.screens.policies import PoliciesScreen

        self._visit(PoliciesScreen(self.stepper.submit))

    def action_faults(self) -> None:
        from kvtui.screens.faults import FaultsScreen

        self._visit(FaultsScreen(self.stepper.submit))

    def _visit(self, screen: LabScreen) -> None:
        """Show a screen of the laboratory in place of the one that is there."""
        self._leave_lab()
        self.push_screen(screen, lambda _: self._show())
        self._show()

    def _leave_lab(self) -> None:
        if isinstance(self.screen, LabScreen):
            self.pop_screen()
            self._show()

    def action_baseline(self) -> None:
        self.stepper.submit(next_baseline)

    def action_measure(self) -> None:
        """Measure the long contexts that are not known yet, or stop doing so."""
        if self.measuring is not None:
            self.workers.cancel_group(self, "curves")
        elif self.curve_store:
            self._begin_measuring(LONG_CONTEXTS, LONG_SECONDS)

    def _begin_measuring(self, contexts: Sequence[int], seconds: float) -> None:
        missing = [context for context in contexts if context not in self.curves.contexts]
        self.run_worker(self._measure(missing or contexts, seconds), group="curves", exclusive=True)

    async def _measure(self, contexts: Sequence[int], seconds: float) -> None:
        """Add a point to the curves for each context; they are measured in a process of their own."""
        assert self.curve_store is not None
        try:
            self.measuring = contexts[0]
            self._show()
            following = [*contexts[1:], None]
            async for row in self.curve_store.measure(contexts, seconds):
                self.curves = self.curves.with_row(row)
                self.measuring = following.pop(0)
                self._show()
                self.curve_store.save(self.curves)
        except OSError as error:
            self.notify(f"The curves: {error}", severity="error", markup=False)
        finally:
            self.measuring = None
            self._show()

    def action_view(self) -> None:
        if self.screen is self.main:
            self.main.turn_page()

    def action_prompt(self) -> None:
        from kvtui.screens.prompt import PromptScreen

        self.stepper.stop()

        def begin(prompt: str | None) -> None:
            if prompt is not None:
                self.stepper.submit(lambda session: session.begin(prompt))

        limit = self.snapshot.model.block_size
        self._open(PromptScreen(self.snapshot.prompt, self._objection, limit), begin)

    def _objection(self, prompt: str) -> str | None:
        """What is wrong with a prompt."""
        if not prompt:
            return "A prompt needs at least one character."
        unknown = self.session.tokenizer.unknown(prompt)
        return f"The model does not know {' '.join(map(repr, unknown[:8]))}." if unknown else None

    def action_sampling(self) -> None:
        screen = SamplingScreen(self.sampling)

        def choose(_: Values | None) -> None:
            self.sampling = screen.sampling
            self.stepper.submit(lambda session: session.set_sampler(self.sampling.sampler()))

        self._open(screen, choose)

    def action_zoom(self) -> None:
        """The focused panel alone, or all again."""
        if self.screen is not self.main:
            return
        panel = self.focused if isinstance(self.focused, Panel) else self.main.query(Panel).first()
        self.main.zoom(None if self.main.zoomed else panel)
        self._remember()

    def action_leave(self) -> None:
        if self.stop is not None:
            self.stop = None
            self._show()
        elif self.main.zoomed:
            self.action_zoom()

    def action_tour(self) -> None:
        """Begin the tour, or where there is one, leave it. It has a text of its own: that is told first."""
        self.stepper.stop()
        self._leave_lab()
        if self.stop is not None:
            self.action_leave()
        elif self.snapshot.generated and self._tour_asked_at != self.snapshot.length:
            self.stepper.submit(self._ask_about_tour)
        else:
            self._go_to_stop(0)

    def _ask_about_tour(self, session: Session) -> str:
        """After the step that may be on its way."""
        self._tour_asked_at = session.length
        return TOUR_BEGINS_ANEW

    def action_next_stop(self) -> None:
        if self.stop is not None and self.stop + 1 < len(STOPS):
            self._go_to_stop(self.stop + 1)
        else:
            self.action_leave()

    def _go_to_stop(self, number: int) -> None:
        """Show what a stop of the tour says, and do what it does."""
        self.stepper.stop()
        stop = STOPS[number]
        self._tour_asked_at = None
        self.stop, self.pair_shown, self.stepper.word = number, stop.naive, None
        self.main.turn_to(stop.panel)
        self.stepper.submit(stop.do)
        if stop.to_limit:
            self.stepper.run_to_limit()
        self._show()

    def action_export(self) -> None:
        """Write the run and the screen into the working folder."""
        try:
            stem = Path.cwd() / f"kvtui-{time.strftime('%Y%m%d-%H%M%S')}"
            characters = self.session.tokenizer.characters
            picture = self.export_screenshot(title="kvtui")
            export_run(self.snapshot, characters, str(self.sampling), picture, stem)
            self._say(f"Saved as {stem}.json, .csv and .svg")
        except OSError as error:
            self._say(f"Not saved: {explain(error)}")

    def action_copy(self) -> None:
        text = self.snapshot.text
        self.copy_to_clipboard(text)
        self._say(f"Copied {count(len(text), 'character')}, where the terminal allows it.")

    def _remember(self) -> None:
        """Keep theme and layout for the next start."""
        if self.settings_path:
            try:
                settings = Settings(self.theme, self.main.zoomed, self.stepper.steps_per_second)
                save_settings(self.settings_path, settings)
            except OSError as error:
                self.notify(f"The settings: {explain(error)}", severity="error", markup=False)

    def action_memory(self) -> None:
        from kvtui.screens.memory import MemoryScreen

        self._open(MemoryScreen(self.snapshot, self._themed_look()))

    def action_help(self) -> None:
        from kvtui.screens.help import HelpScreen

        focused = self.focused
        title = focused.title(focused.view) if isinstance(focused, Panel) and focused.view else None
        if isinstance(self.screen, LabScreen):
            title = self.screen.TITLE
        self._open(HelpScreen(self.look, title))

    def _open(self, screen: Screen[Result], then: Callable[[Result | None], None] | None = None) -> None:
        """Show a dialog over the main screen."""
        screen.set_class(self.look.ascii, "-ascii")
        self.push_screen(screen, then)
