"""The curves are measured beside the running session."""

import asyncio

import pytest

from kvtui.curves import KINDS, LONG_CONTEXTS, QUICK_CONTEXTS, Curves


class SlowStore:
    """A store of curves whose measurements end when they are told to."""

    def __init__(self):
        self.saved, self.asked, self.go_on = [], [], asyncio.Event()

    def load(self):
        return Curves()

    def save(self, curves):
        self.saved.append(curves)

    async def measure(self, contexts, seconds):
        for context in contexts:
            self.asked.append(context)
            await self.go_on.wait()
            timing = {"best": 1.0, "median": 1.0, "runs": 1}
            yield {"context": context, **dict.fromkeys(KINDS, timing)}


@pytest.fixture
def measuring_app(make_app):
    return make_app(curve_store=SlowStore())


async def test_curves_are_measured_at_first_use_while_keys_go_on_acting(measuring_app, press, screen_text):
    app = measuring_app
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause(0.3)
        assert f"measuring {QUICK_CONTEXTS[0]}, m stops" in screen_text(app)
        await press(app, pilot, "space")
        assert app.snapshot.length == 4
        app.curve_store.go_on.set()
        await app.workers.wait_for_complete([w for w in app.workers if w.group == "curves"])
        await pilot.pause(0.3)  # the chart is in no hurry
        assert app.curves.contexts == set(QUICK_CONTEXTS)
        assert app.curve_store.saved[-1] == app.curves
        assert "measuring" not in screen_text(app)


async def test_m_stops_a_measurement_and_begins_with_long_contexts(measuring_app, press):
    app = measuring_app
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        await press(app, pilot, "m")
        assert app.measuring is None
        await press(app, pilot, "m")
        assert app.measuring == LONG_CONTEXTS[0]
