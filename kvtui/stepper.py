"""What steps a session: actions one after the other on the engine's thread, and steps while it runs."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable

from kvtui.actions import Action, follow, toward_limit
from kvtui.engine_thread import EngineThread
from kvtui.session import Session
from kvtui.snapshot import Snapshot

FAST_SLICE = 0.12  # seconds of a run as fast as it goes between two pictures, which take less time


class Stepper:
    """One coroutine takes an action, has the engine's thread carry it out, shows the new snapshot, and
    waits until that is painted before it takes the next.

    So the engine does not compute while its own pictures are drawn. (What a user does meanwhile, such
    as scrolling the help, can.)
    """

    def __init__(
        self,
        session: Session,
        steps_per_second: float,
        show: Callable[[], None],
        painted: Callable[[], Awaitable[None]],
        complain: Callable[[Exception], None],
    ) -> None:
        """`show` is called when there is something new to show, `complain` when something went wrong."""
        self.session = session
        self.snapshot: Snapshot = session.snapshot()
        self.word: str | None = None  # for the user, on the last action
        self.running = False
        self.to_limit = False
        self.steps_per_second = steps_per_second  # of a run; 0 is as fast as it goes
        self._show, self._painted, self._complain = show, painted, complain
        self._engine = EngineThread()
        self._actions: asyncio.Queue[Action] = asyncio.Queue()
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()

    async def work(self) -> None:
        """Carry out actions one after the other, and steps while running."""
        while True:
            behind = self.session.behind
            if not (self.running or self.to_limit or behind) and self._actions.empty():
                self._wake.clear()
                self._idle.set()
                await self._wake.wait()
                self._idle.clear()
            begin = time.perf_counter()
            if not self._actions.empty():
                await self._carry_out(self._actions.get_nowait())
            elif behind:
                await self._carry_out(follow)
            elif self.to_limit:
                if below_limit := self.snapshot.length < self.snapshot.window_full_at:
                    await self._carry_out(toward_limit)
                self.to_limit &= below_limit
            elif self.running:
                await self._carry_out(Session.step if self.steps_per_second else self._run_fast)
                rate = self.steps_per_second or math.inf
                await self._pause(1 / rate - (time.perf_counter() - begin))

    def submit(self, action: Action) -> None:
        self._actions.put_nowait(action)
        self._go_on()

    def run(self) -> None:
        self.running = True
        self._show()
        self._go_on()

    def run_to_limit(self) -> None:
        """Go on until the window is full, after what was submitted before."""
        self.to_limit = True
        self._go_on()

    def stop(self) -> bool:
        """End running, and going to the limit; whether there was any of it."""
        was_running, going_on = self.running, self.running or self.to_limit
        self.running = self.to_limit = False
        if was_running:
            self._show()
        return going_on

    async def settled(self) -> None:
        """Wait until every action so far is carried out and painted."""
        await self._idle.wait()

    def _go_on(self) -> None:
        self._idle.clear()
        self._wake.set()

    def _run_fast(self, session: Session) -> None:
        """Steps until it is time for a picture, or for something else; on the engine's thread."""
        end = time.perf_counter() + FAST_SLICE
        session.step()
        while self.running and self._actions.empty() and time.perf_counter() < end:
            session.step()

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

        def act() -> tuple[str | None, Snapshot]:
            return action(self.session), self.session.snapshot()

        try:
            word, self.snapshot = await self._engine.call(act)
            if action is not follow:  # which nobody asked for: what was said stays
                self.word = word
            self._show()
        except Exception as error:  # whatever goes wrong, in the engine or a panel, the program goes on
            self.stop()
            self._complain(error)
            await self._recover()
        await self._painted()

    async def _recover(self) -> None:
        """After an error, show what the session is now; where even that fails, what was shown stays."""
        try:
            self.snapshot = await self._engine.call(self.session.snapshot)
            self._show()
        except Exception as error:
            self._complain(error)
