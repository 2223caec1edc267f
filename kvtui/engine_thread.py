"""One thread for the engine, so that a slow step never holds up the keys."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")


class EngineThread:
    """Runs calls one after the other on a thread of its own, each awaited from the event loop.

    The thread is a daemon: a NumPy call cannot be interrupted, and must not keep the program from
    quitting.
    """

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._work, name="engine", daemon=True).start()

    async def call(self, function: Callable[[], Result]) -> Result:
        """The function's result, or the exception that it raised."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def finish(setter: Callable[[Any], None], outcome: object) -> None:
            if not future.cancelled():
                setter(outcome)

        def run() -> None:
            try:
                outcome: object = function()
                setter: Callable[[Any], None] = future.set_result
            except Exception as error:
                outcome, setter = error, future.set_exception
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, setter, outcome)

        self._calls.put(run)
        return await future

    def _work(self) -> None:
        while True:
            self._calls.get()()
