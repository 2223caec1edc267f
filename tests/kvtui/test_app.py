"""Keys act on the session, and the panels show it."""

import random
from dataclasses import replace

import pytest

from kvtui.app import KvtuiApp
from kvtui.keys import KEYS
from kvtui.panels.panel import Panel, ViewWidget, changed
from kvtui.screens.help import HelpScreen
from kvtui.screens.prompt import PromptArea, PromptScreen
from kvtui.session import Session
from kvtui.snapshot import BaselineMode
from kvtui.visual import Look
from model import GPTConfig
from model.sampling import LogitsNotFinite, make_sampler
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"
SIZES = [(120, 40), (80, 24), (40, 12)]


async def begin_with(app, pilot, prompt):
    """Enter a prompt in its dialog, which is open."""
    app.screen.query_one(PromptArea).text = prompt
    await pilot.press("enter")
    await pilot.pause()
    await app.settled()


def painted_lines(widget):
    """Text and colours of every line, the ones that no change touched as they were painted last."""
    return widget.render_lines(widget.outer_size.region)


async def test_the_first_picture_has_live_figures(make_app, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)):
        text = screen_text(app)
        assert "3 of 12 positions" in text
        assert "Prefill: the prompt's 3 characters" in text


async def test_help_may_be_open_while_the_session_goes_on(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("space", "question_mark")
        app.stepper.submit(Session.step)
        await app.settled()
        await pilot.resize_terminal(40, 12)
        await pilot.press("escape")
        await pilot.pause()
        assert app.snapshot.length == 5
        assert app.main.has_class("-tiny")


async def test_space_steps_and_b_goes_back(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "space", "space", "b")
        assert app.snapshot.length == 5
        assert "KV cache · 5 of 12 positions" in screen_text(app)


async def test_keys_pressed_faster_than_the_engine_are_all_carried_out(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press(*["space"] * 7)
        await app.settled()
        assert app.snapshot.length == 10


async def test_back_at_the_prompt_says_so_and_changes_nothing(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "b")
        assert app.snapshot.length == 3
        assert "no step to undo" in screen_text(app)


async def test_l_fills_the_window_and_stops(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l")
        assert app.snapshot.length == CONFIG.block_size
        await press(app, pilot, "l")
        assert app.snapshot.length == CONFIG.block_size


async def test_r_runs_and_pauses(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("r")
        while app.snapshot.length < 6:
            await pilot.pause(0.01)
        await pilot.press("r")
        await app.settled()
        stopped_at = app.snapshot.length
        await pilot.pause(0.15)
        assert app.snapshot.length == stopped_at


async def test_n_shows_both_models_for_the_same_text(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "n")
        assert "the same until the window is full at 12: 9 to go" in screen_text(app)
        await press(app, pilot, "l", *["space"] * 4)
        text = screen_text(app)
        agreed = app.snapshot.policy("naive slide").comparisons.agreed
        assert "real model" in text
        assert "naive slide" in text
        assert f"agree {agreed} of 4" in text
        await press(app, pilot, "n")
        assert "naive" not in screen_text(app).replace("n naive", "")


async def test_u_goes_through_the_baselines(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space")
        for mode in (BaselineMode.BLOCKED, BaselineMode.ALL):
            await press(app, pilot, "u")
            assert app.snapshot.baseline.mode is mode
            assert mode.value in screen_text(app)
            assert "same logits" in screen_text(app)
        await press(app, pilot, "u")
        assert app.snapshot.baseline is None


async def test_p_begins_with_another_prompt(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "p")
        app.screen.query_one(PromptArea).text = "[bold] h"
        await pilot.pause()
        assert "does not know 'o' 'l'" in app.screen.query_one("#note").render().plain
        await pilot.press("enter")
        assert isinstance(app.screen, PromptScreen)
        await begin_with(app, pilot, "[h gab[")
        assert (app.snapshot.prompt, app.snapshot.generated) == ("[h gab[", "")


async def test_an_empty_prompt_is_refused_in_words(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("p")
        app.screen.query_one(PromptArea).text = ""
        await pilot.press("enter")
        await pilot.pause()
        assert "at least one character" in app.screen.query_one("#note").render().plain


async def test_c_opens_the_memory_view_and_arrows_change_it(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("c", "down", "right", "right", "down", "right")
        assert (app.screen.values["context"], app.screen.values["sequences"]) == (16384, 2)
        assert "16,384" in app.screen.query_one("#rows").render().plain
        await pilot.press("escape")
        assert app.screen is app.main


async def test_help_explains_the_focused_panel_first(make_app):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        app.main.query_one("#latency").focus()
        await pilot.pause()
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        text = app.screen._content().plain
        assert text.index("Latency\n") < text.index("Text\n")
        await pilot.press("escape")
        assert not isinstance(app.screen, HelpScreen)


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit(make_app, key):
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press(key)
    assert app._exit


async def test_a_fault_in_the_engine_is_shown_and_the_program_goes_on(make_app, monkeypatch, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        with monkeypatch.context() as patch:
            patch.setattr(Session, "set_baseline", lambda *_: 1 / 0)
            await press(app, pilot, "u")
        assert "ZeroDivisionError" in next(n.message for n in app._notifications)
        await press(app, pilot, "space")
        assert app.snapshot.length == 4


async def test_where_not_even_a_snapshot_can_be_made_the_program_goes_on(make_app, monkeypatch, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        with monkeypatch.context() as patch:
            patch.setattr(Session, "snapshot", lambda _: 1 / 0)
            await press(app, pilot, "space")
        await press(app, pilot, "space")
        assert app.snapshot.length == 5


async def test_in_a_window_of_no_lines_the_palette_stays_away(make_app, press):
    app = make_app()
    async with app.run_test(size=(3, 2)) as pilot:
        await press(app, pilot, "ctrl+p", "pageup", "pagedown")
        assert app.screen is app.main
        await pilot.resize_terminal(80, 24)
        await press(app, pilot, "ctrl+p")
        assert app.screen is not app.main


@pytest.mark.parametrize("look", [Look(), Look(ascii=True)], ids=["blocks", "ascii"])
@pytest.mark.parametrize("theme", ["kvtui-dark", "kvtui-light", "ansi-dark"])
async def test_any_keys_at_any_size_never_crash(make_app, theme, look):
    choose = random.Random(theme)
    app = make_app("ab[", look)
    app.theme = theme
    async with app.run_test(size=(120, 40)) as pilot:
        for _ in range(40):
            if choose.random() < 0.25:
                await pilot.resize_terminal(choose.randint(1, 160), choose.randint(1, 50))
            await pilot.press(choose.choice(["space", "b", "n", "u", "l", "v", "tab", "left", "right"]))
            await pilot.pause()
            for widget in app.main.query(ViewWidget):
                if widget.is_on_screen:
                    painted = painted_lines(widget)
                    widget.redraw()
                    fresh = painted_lines(widget)
                    spans = [changed(*pair) for pair in zip(painted, fresh, strict=True)]
                    assert spans == [(0, 0)] * len(spans), "what was left as it was is as it should be"
    assert app.return_code in (0, None)


@pytest.mark.parametrize("characters", ["ab☁\ufe0f", "e\u0301\u0300a", "निक्षab", "日本語\n\t\x00"])
async def test_characters_of_any_width_leave_nothing_stale(perturbed, characters, press):
    config = replace(CONFIG, vocab_size=len(characters))
    tokenizer = CharTokenizer(characters)
    app = KvtuiApp(Session(perturbed(config), tokenizer, characters[:2], sampler=make_sampler(5.0)))
    async with app.run_test(size=(100, 34)) as pilot:
        for _ in range(25):
            await press(app, pilot, "space")
            for widget in app.main.query(ViewWidget):
                painted = painted_lines(widget)
                widget.redraw()
                fresh = painted_lines(widget)
                assert [list(s.simplify()) for s in painted] == [list(s.simplify()) for s in fresh]


async def test_where_a_step_cannot_be_taken_the_screen_is_where_the_session_is(make_app, press):
    app = make_app()
    sampler = app.session.sampler

    def fail_at_nine(logits, position):
        if position >= 9:
            raise LogitsNotFinite("overflow")
        return sampler(logits, position)

    app.session.sampler = fail_at_nine
    async with app.run_test(size=(120, 40)) as pilot:
        for keys in (["l"], ["space"], ["b", "space", "space"]):
            await press(app, pilot, *keys)
            assert app.snapshot == app.session.snapshot()
            assert app.snapshot.length == 8
        assert "overflow" in [n.message for n in app._notifications][-1]


async def test_two_steps_back_and_to_the_limit_in_one_breath(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "space")
        await pilot.press("b", "b", "l")
        await app.settled()
        assert app.snapshot.length == CONFIG.block_size


async def test_at_the_limit_l_says_so(make_app, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "l", "l")
        assert "full already" in screen_text(app)


async def test_in_ascii_everything_is_ascii(make_app, press, screen_text):
    app = make_app(look=Look(ascii=True))
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "u", "l", "n", "space", "space")
        assert [c for c in screen_text(app) if not c.isascii()] == []


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_is_drawn_while_nothing_changes(make_app, size, monkeypatch, press):
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await press(app, pilot, "space")
        await pilot.pause(0.5)  # the chart is in no hurry
        drawn = []
        for widget in app.main.query(Panel):
            monkeypatch.setattr(widget, "render_lines", lambda crop: drawn.append(crop) or [])
        await pilot.pause(0.2)
        assert drawn == []


async def test_a_small_window_has_the_other_panels_a_key_away(make_app, press):
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        visible = {p.id for p in app.main.query(Panel) if p.is_on_screen and p.display}
        assert visible == {"text", "next", "cache"}
        await press(app, pilot, "v")
        assert {p.id for p in app.main.query(Panel) if p.display} == {"latency", "step-time"}
        await pilot.resize_terminal(40, 12)
        await pilot.pause()
        assert {p.id for p in app.main.query(Panel) if p.display} == {"text"}


async def test_the_palette_has_every_action(make_app):
    app = make_app()
    async with app.run_test(size=(80, 24)):
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {key.description for key in KEYS} <= titles


async def test_every_page_of_every_layout_shows_something(make_app, press):
    app = make_app()
    async with app.run_test(size=(60, 15)) as pilot:
        for size, pages in [((60, 15), 4), ((80, 24), 2), ((120, 40), 1), ((30, 10), 1)]:
            await pilot.resize_terminal(*size)
            await pilot.pause()
            seen = set()
            for _ in range(pages):
                shown = {panel.id for panel in app.main.query(Panel) if panel.display}
                assert shown
                assert not shown & seen
                seen |= shown
                await press(app, pilot, "v")
            assert seen == {"text"} if pages == 1 and size[0] < 60 else len(seen) == 5


@pytest.mark.parametrize("key", ["b", "r", "l", "space"])
async def test_the_way_to_the_limit_can_be_stopped(make_app, monkeypatch, key):
    monkeypatch.setattr("kvtui.actions.SLICE", 0.0)  # a picture after every step
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        app.action_limit()
        stops = {"b": app.action_step_back, "r": app.action_run, "l": app.action_limit}
        stops.get(key, app.action_step)()
        await app.settled()
        stopped_at = app.snapshot.length
        assert stopped_at < CONFIG.block_size
        await pilot.pause(0.1)
        assert app.snapshot.length == stopped_at


async def test_the_way_to_the_limit_ends_with_another_prompt(make_app, monkeypatch):
    monkeypatch.setattr("kvtui.actions.SLICE", 0.0)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        app.action_limit()
        app.action_prompt()
        await pilot.pause()
        await begin_with(app, pilot, "ha")
        assert (app.snapshot.prompt, app.snapshot.generated) == ("ha", "")


async def test_z_gives_a_panel_the_window_and_takes_it_back(make_app, press):
    app = make_app()
    async with app.run_test(size=(80, 24)) as pilot:
        await press(app, pilot, "z")
        shown = [panel.id for panel in app.main.query(Panel) if panel.display]
        assert shown == ["text"]
        await press(app, pilot, "tab")
        zoomed = app.main.zoomed
        assert zoomed == "next"
        assert [panel.id for panel in app.main.query(Panel) if panel.display] == [zoomed]
        await press(app, pilot, "escape")
        assert app.main.zoomed == ""
        assert len([panel for panel in app.main.query(Panel) if panel.display]) == 3


async def test_sampling_holds_from_the_next_character_on(make_app, perturbed, press, screen_text):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "space", "s", *["right"] * 10, "escape", *["space"] * 5)
        assert "drawn at temperature 1, seed 0" in screen_text(app)
        fresh = Session(perturbed(CONFIG), CharTokenizer(CHARACTERS), "abc")
        fresh.step()
        fresh.step()
        fresh.set_sampler(make_sampler(1.0))
        for _ in range(5):
            fresh.step()
        assert app.snapshot.generated == fresh.snapshot().generated


async def test_arrows_change_the_speed_of_a_run_and_it_is_remembered(
    make_app, tmp_path, press, screen_text
):
    def app_with_settings():
        session = make_app().session
        return KvtuiApp(session, settings_path=tmp_path / "settings.toml")

    app = app_with_settings()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, *["down"] * 9, "up", "z")
        assert "2 steps a second" in screen_text(app)
        app.theme = "nord"
        await pilot.pause()
    again = app_with_settings()
    async with again.run_test(size=(120, 40)) as pilot:
        assert again.stepper.steps_per_second == 2
        assert again.theme == "nord"
        assert again.main.zoomed == "text"
        await press(again, pilot, *["up"] * 9)
        await pilot.press("r")
        while again.snapshot.length <= CONFIG.block_size:
            await pilot.pause(0.05)
        await press(again, pilot, "r")
        assert again.snapshot.length > CONFIG.block_size
        assert again.snapshot == again.session.snapshot()


async def test_a_broken_settings_file_is_told_and_the_program_starts(make_app, tmp_path):
    (tmp_path / "settings.toml").write_text("colour = 1")
    app = KvtuiApp(make_app().session, settings_path=tmp_path / "settings.toml")
    async with app.run_test(size=(120, 40)):
        assert "no setting colour" in next(n.message for n in app._notifications)


async def test_e_writes_the_run_into_the_working_folder(
    make_app, tmp_path, monkeypatch, press, screen_text
):
    monkeypatch.chdir(tmp_path)
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "e")
        assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".json", ".svg"]
        monkeypatch.setattr("kvtui.app.export_run", lambda *_: (tmp_path / "no" / "such").read_text())
        await press(app, pilot, "e")
        assert "Not saved" in screen_text(app)


async def test_y_copies_the_text(make_app, press):
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await press(app, pilot, "space", "y")
        assert app.clipboard == app.snapshot.prompt + app.snapshot.generated
