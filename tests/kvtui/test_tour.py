"""The guided tour: what each stop says and does, and that it can be left."""

import pytest

from kvtui.session import Session
from kvtui.tour import STOPS

BLOCK_SIZE = 12  # of the model on the screen
SIZES = [(120, 40), (80, 24), (40, 12)]


async def test_the_tour_tells_its_story_on_the_running_model(make_app, press, screen_text):
    app = make_app("ab")
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "t")
        assert app.stop is None
        assert "press t again" in screen_text(app)
        await press(app, pilot, "t")
        lengths = []
        for number, stop in enumerate(STOPS):
            assert app.stop == number
            assert stop.title in screen_text(app)
            assert app.focused.id == stop.panel
            assert app.focused.is_on_screen
            assert app.pair_shown == stop.naive
            lengths.append(app.snapshot.length)
            await press(app, pilot, "enter")
        assert app.stop is None
        assert lengths[0] == 2, "it begins with the prompt alone"
        assert lengths[4] >= BLOCK_SIZE
        assert lengths[7] == BLOCK_SIZE + 40
        assert lengths[8] == BLOCK_SIZE


async def test_the_tour_asks_after_the_step_that_is_on_its_way(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space")
        app.stepper.submit(Session.step)
        app.action_tour()
        await app.settled()
        assert "press t again" in screen_text(app)
        assert app.stop is None
        app.action_tour()
        await app.settled()
        assert (app.stop, app.snapshot.generated) == (0, "")


@pytest.mark.parametrize("size", SIZES)
async def test_the_tour_can_be_left_at_any_stop(make_app, size, press):
    app = make_app("ab")
    async with app.run_test(size=size) as pilot:
        for stops in range(len(STOPS)):
            begin = ["t"] if stops == 0 else ["t", "t"]
            await press(app, pilot, *begin, *["enter"] * stops, "escape")
            assert app.stop is None
            length = app.snapshot.length
            await press(app, pilot, "space")
            assert app.snapshot.length == length + 1
