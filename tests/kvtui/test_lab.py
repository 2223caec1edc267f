"""The laboratory's screens look further into the same running session."""

import asyncio

import numpy as np
import pytest

from kvtui.faulty import FaultyRun
from kvtui.panels.attention import AttentionPanel
from kvtui.panels.entries import EntriesPanel
from kvtui.panels.entry import EntryPanel
from kvtui.panels.exactness import ExactnessPanel
from kvtui.panels.faults import FaultListPanel, FaultPanel
from kvtui.panels.ladder import LadderPanel
from kvtui.panels.panel import ViewWidget
from kvtui.panels.read_text import ReadTextPanel
from kvtui.screens.faults import FaultsScreen
from kvtui.screens.inspector import InspectorScreen
from kvtui.screens.policies import PoliciesScreen
from kvtui.session import Session
from kvtui.visual import POLICY_IDEAS, Look, visible
from model import GPTConfig
from model.faults import FAULTS
from model.limit import POLICIES

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"
SIZES = [(200, 60), (120, 40), (100, 30), (80, 24), (60, 15), (40, 12)]


def text_of(app, kind):
    widget = app.screen.query_one(kind)
    return "\n".join(strip.text for strip in widget.render_lines(widget.outer_size.region))


async def test_the_inspector_looks_at_the_entry_the_layer_and_the_head_that_keys_pick(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "space", "i")
        assert "Entry 4" in text_of(app, EntryPanel)
        assert "the newest" in text_of(app, EntryPanel)
        await press(app, pilot, "left", "left", "up", "h")
        inspection = app.snapshot.inspection
        assert (inspection.entry, inspection.cursor.layer, inspection.cursor.head) == (2, 1, 1)
        cache = app.session._real.cache
        assert np.array_equal(inspection.key, cache.keys[1, 1, 2])
        assert np.array_equal(inspection.value, cache.values[1, 1, 2])
        assert f"|K| {np.linalg.norm(cache.keys[1, 1, 2]):.2f}" in text_of(app, EntryPanel)
        assert "real model: exact, to rounding" in text_of(app, ExactnessPanel)
        await press(app, pilot, "space", "end", "space")
        assert app.snapshot.inspection.entry == app.snapshot.length - 1 == 6
        await press(app, pilot, "escape")
        assert app.screen is app.main
        assert app.snapshot.inspection is None


async def test_attention_is_shown_for_every_head_and_sums_to_one(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["space"] * 4, "i")
        attention = app.snapshot.inspection.attention
        assert attention.shape == (2, 7)
        text = text_of(app, AttentionPanel)
        for head in range(2):
            assert f"head {head}" in text
            assert f"max {attention[head].max():.2f}" in text
        assert f"sums are 1 to {np.abs(attention.sum(axis=1) - 1).max():.0e}" in text
        strongest = int(attention[0].argmax())
        assert f"{strongest} '" in text_of(app, ReadTextPanel)
        assert f"{attention[0].max():.2f}" in text_of(app, ReadTextPanel)


async def test_the_inspector_shows_where_a_slid_cache_breaks(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "n", "space", "space", "i")
        assert "naive slide: breaks in layer 0" in text_of(app, ExactnessPanel)
        assert "2 too far on" in await entry_line(app, pilot, press, 0)
        await press(app, pilot, "n")
        assert "real model: exact" in text_of(app, ExactnessPanel)


async def entry_line(app, pilot, press, entry):
    while app.snapshot.inspection.entry > entry:
        await press(app, pilot, "left")
    return text_of(app, EntryPanel)


async def test_the_inspector_says_why_it_looks_into_another_cache_than_the_one_on_the_right(
    make_app, press
):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "n", "i")
        assert "real model, as naive slide is until the limit" in text_of(app, AttentionPanel)
        await press(app, pilot, "l", "space")
        assert "Attention · naive slide ·" in text_of(app, AttentionPanel)
        await press(app, pilot, "o", "o", "o")
        assert "real model, as stop has ended" in text_of(app, AttentionPanel)


async def test_keys_that_come_before_the_next_picture_all_move_the_entry(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["space"] * 6, "i")
        for _ in range(4):
            app.screen.action_entry(-1)
        await app.settled()
        assert app.snapshot.inspection.entry == app.snapshot.length - 1 - 4
        for _ in range(9):
            app.screen.action_entry(1)
        await press(app, pilot, "space")
        assert app.snapshot.inspection.entry == app.snapshot.length - 1


async def test_all_policies_stand_in_a_table(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "d")
        assert "they part after 9 characters more" in text_of(app, LadderPanel)
        await press(app, pilot, "l", "space", "space", "space")
        text = text_of(app, LadderPanel)
        for state in app.snapshot.beside:
            comparisons = state.comparisons
            line = next(line for line in text.splitlines() if state.name in line)
            assert f"{comparisons.agreed / 3:.0%}".replace("%", " %") in line
            assert f"{comparisons.mean_kl:.3f}" in line
            assert f"{comparisons.max_kl:.2f}" in line
            assert f"{comparisons.bits[1:].mean():.2f}" in line
        real = next(line for line in text.splitlines() if "real model" in line)
        assert (
            f" {app.snapshot.steps.bits[-2:].mean():.2f} " in real
        )  # of what was predicted past the limit
        for size, gone in (
            ((60, 20), ["cache"]),
            ((40, 20), ["bits/char", "ms/step"]),
        ):
            await pilot.resize_terminal(*size)
            await pilot.pause()
            heading = text_of(app, LadderPanel).splitlines()[1]
            assert "agree" in heading
            assert not [column for column in gone if column in heading], heading
        assert "the text has ended" in next(line for line in text.splitlines() if "stop" in line)


async def test_the_error_is_taken_apart_step_by_step_while_it_is_looked_at(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "space", "space")
        assert len(app.snapshot.anatomy) == 0
        await press(app, pilot, "d")
        assert app.snapshot.anatomy.rows["length"].tolist() == [14]
        assert "1 of 2 steps, those taken with this open" in text_of(app, "#anatomy")
        await press(app, pilot, "space", "space", "b")
        assert app.snapshot.anatomy.rows["length"].tolist() == [14, 15]
        assert "wrong positions" in text_of(app, "#anatomy")
        assert "4 of 12 computed at 11" in text_of(app, EntriesPanel)
        await press(app, pilot, "escape", "space")
        assert app.snapshot.anatomy.rows["length"].tolist() == [14, 15]


async def test_any_two_policies_stand_side_by_side(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "o", "space", "space")
        seen = set()
        for key in ["o", "o", "o", "O", "o", "O", "O", "o"]:
            await press(app, pilot, key)
            assert len(set(app.pair)) == 2
            seen.add(app.pair)
            text = text_of(app, "#next")
            for name in app.pair:
                assert ("real model" if name == "recompute" else name) in text
        assert len(seen) >= 6


async def test_a_fault_is_switched_on_and_off_and_the_sound_run_goes_on(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["space"] * 3, "f")
        assert "It is off" in text_of(app, FaultPanel)
        await press(app, pilot, "enter", "space")
        faulty = app.snapshot.faulty
        assert faulty.fault == FAULTS[0]
        assert len(faulty.generated) == len(app.snapshot.generated) == 4
        text = text_of(app, FaultPanel)
        assert all(meter.reading in text for meter in faulty.meters)
        assert any(meter.notices for meter in faulty.meters)
        await press(app, pilot, "down", "enter")
        assert app.snapshot.faulty.fault == FAULTS[1]
        await press(app, pilot, "enter")
        assert app.snapshot.faulty is None
        await press(app, pilot, "up", "up", "enter", "escape", "space")
        assert app.snapshot.faulty is None
        assert app.snapshot.length == 8


async def test_a_fault_that_is_switched_on_late_follows_in_slices(make_app, press, monkeypatch):
    monkeypatch.setattr("kvtui.actions.LONG_SLICE", 0.0)  # a picture after every step
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", *["space"] * 9, "f")
        seen, texts, show = [], [], FaultPanel.show

        def watch(panel, view):
            show(panel, view)
            seen.append(view.snapshot.faulty)
            texts.append(text_of(app, FaultPanel))

        monkeypatch.setattr(FaultPanel, "show", watch)
        app.screen.action_switch()
        app.action_take(2)
        await app.settled()
        behind = [faulty.behind for faulty in seen if faulty]
        assert any("The second run follows: 1 character to go." in text for text in texts)
        assert "follows" not in texts[-1]
        assert "Your choice" in text_of(app, "Sentence")  # nobody asked for the slices
        assert sorted(set(behind), reverse=True) == list(range(app.snapshot.length - 4, -1, -1))
        assert app.snapshot.faulty.behind == 0


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 15)])
async def test_what_a_fault_does_to_the_text_is_seen_in_small_windows_too(make_app, press, size):
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await press(app, pilot, "f", "enter", *["space"] * 4)
        faulty, text = app.snapshot.faulty, text_of(app, FaultPanel)
        assert faulty.generated == app.snapshot.generated  # this fault is quiet here: one text, seen twice
        assert text.count("".join(map(visible, app.snapshot.text))) == 2
        if size != (60, 15):
            assert all(meter.reading in text for meter in faulty.meters)


async def test_the_list_of_faults_goes_round(make_app, press):
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "f", "up")
        assert app.screen.query_one(FaultListPanel).chosen == FAULTS[-1]
        assert FAULTS[-1].name in text_of(app, FaultListPanel)
        await press(app, pilot, "down")
        assert app.screen.query_one(FaultPanel).chosen == FAULTS[0]


async def test_two_switches_before_the_next_picture_are_on_and_off(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "f")
        app.screen.action_switch()
        app.screen.action_switch()
        await app.settled()
        assert app.snapshot.faulty is None
        await press(app, pilot, "enter", "escape")
        assert "The fault is off again" in text_of(app, "Sentence")


async def test_where_its_meters_fail_the_program_goes_on(make_app, press, monkeypatch):
    monkeypatch.setattr("kvtui.actions.LONG_SLICE", 0.0)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["space"] * 5, "f")
        with monkeypatch.context() as patch:
            patch.setattr(FaultyRun, "meters", lambda run, _: () if len(run.text) < 5 else 1 / 0)
            await pilot.press("enter")
            await asyncio.wait_for(app.settled(), 20)
        await press(app, pilot, "space")
        assert app.snapshot.length == 9
        assert app.snapshot.faulty.behind == 0


@pytest.mark.parametrize("name", ["reset-leaves-some", "mask-not-offset"])
async def test_past_the_limit_it_says_that_all_is_well_only_where_it_is(make_app, press, name):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        at = [fault.name for fault in FAULTS].index(name)
        await press(app, pilot, "l", "f", *["down"] * at, "enter", *["space"] * 3)
        notices = [meter.notices for meter in app.snapshot.faulty.meters if meter.name != "text"]
        assert ("whatever was wrong" in text_of(app, FaultPanel)) == (not any(notices))


async def test_the_sentence_is_about_the_policy_on_the_right(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "n", "space")
        assert "the naive cache dropped its oldest entry" in text_of(app, "Sentence")
        await press(app, pilot, "o", "space")
        assert "attention sinks kept the first few entries" in text_of(app, "Sentence")
        await press(app, pilot, "o", "space")
        stored = app.snapshot.policy("refill").cache.stored
        assert f"the refill cache holds {stored} of 12 entries" in text_of(app, "Sentence")
        await press(app, pilot, "o", "space")
        assert "is past the limit: every visible character moved" in text_of(app, "Sentence")


async def test_an_entry_that_was_taken_back_is_no_place_to_count_from(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["space"] * 6, "i", "left", *["b"] * 4)
        newest = app.snapshot.length - 1
        assert app.snapshot.inspection.entry == newest
        await press(app, pilot, "left")
        assert app.snapshot.inspection.entry == newest - 1


async def test_a_click_chooses_a_fault_and_another_switches_it(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "f")
        faults = app.screen.query_one(FaultListPanel)
        await pilot.click(FaultListPanel, offset=(5, 4))
        assert faults.chosen == app.screen.query_one(FaultPanel).chosen == FAULTS[3]
        await pilot.click(FaultListPanel, offset=(5, 4))
        await pilot.pause()
        await app.settled()
        assert app.snapshot.faulty.fault == FAULTS[3]
        for offset in ((5, 0), (5, len(FAULTS) + 2)):
            await pilot.click(FaultListPanel, offset=offset)
            assert faults.chosen == FAULTS[3]


def test_every_policy_has_its_colour_and_mark_and_no_two_the_same():
    assert set(POLICY_IDEAS) == {policy.name for policy in POLICIES}
    for mark in ("mark", "ascii_mark"):
        assert len({getattr(idea, mark) for idea in POLICY_IDEAS.values()}) == len(POLICIES)


async def test_the_digits_take_other_candidates_and_b_takes_them_back(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        third = app.snapshot.candidates[2].character
        await press(app, pilot, "3")
        assert app.snapshot.generated == third
        assert "Your choice" in text_of(app, "Sentence")
        await press(app, pilot, "b", "space")
        assert app.snapshot.generated != third


async def test_a_digit_that_comes_when_the_run_has_gone_on_takes_nothing(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)):
        app.stepper.running = True  # and a step is on its way
        app.stepper.submit(Session.step)
        app.action_take(2)
        await app.settled()
        assert app.snapshot.length == 4
        assert "The text has changed before the key came: press 3 again" in text_of(app, "Sentence")
        app.action_take(2)
        app.action_take(1)  # in one breath, from a text that stands
        await app.settled()
        assert app.snapshot.length == 6


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("look", [Look(), Look(ascii=True)], ids=["blocks", "ascii"])
async def test_every_screen_can_be_visited_at_any_size(make_app, size, look, press):
    app = make_app(look=look)
    async with app.run_test(size=size) as pilot:
        for keys in (
            "i",
            "escape",
            "d",
            "f",
            "i",
            "l",
            "space",
            "n",
            "escape",
            "f",
            "enter",
            "d",
            "i",
            "t",
        ):
            await press(app, pilot, keys)
            for widget in app.screen.query(ViewWidget):
                widget.render_lines(widget.outer_size.region)
        assert app.screen is app.main, "the tour is told on the main screen"
        assert app._exception is None


async def test_from_one_screen_of_the_laboratory_another_takes_its_place(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        for key, kind in (("i", InspectorScreen), ("d", PoliciesScreen), ("f", FaultsScreen)):
            await press(app, pilot, key)
            assert isinstance(app.screen, kind)
            assert len(app.screen_stack) == 2
