"""The app as a user has it: a process in a terminal, its keys and signals, and what can be read there."""

import random
import re
import signal
import time
from signal import Signals

import pytest

from kvtui.curves import KINDS, LONG_CONTEXTS, QUICK_CONTEXTS, Curves, CurveStore
from kvtui.figures import percent
from kvtui.session import Session
from kvtui.visual import Look
from model import GPT
from model.tokenizer import CharTokenizer

from .terminal import ANSWERS, PATIENCE, Terminal

TerminalApp = pytest.importorskip("kvtui.terminal").TerminalApp

PROMPT = "abc"
SMALL_SIZES = [(80, 24), (60, 15), (40, 12)]
TIME = re.compile(r"[\d.]+ m?s\b[^│]*")
SIGNALS = [Signals.SIGINT, Signals.SIGTERM, *(number for number in Signals if number.name == "SIGHUP")]
ENDS = {"q": 0, "ctrl+q": 0} | {number: 128 + number for number in SIGNALS}
MODES = set("7 25 1000 1003 1004 1006 1015 1016 1049 2004 2048".split())
MAIN = "from kvtui.cli import main; raise SystemExit(main())"
ANY_KEYS = [*"bbbnuvlrc?p[]adhJ+-", *["space"] * 4, *"enter escape tab left right up down".split()]


@pytest.fixture(scope="module")
def home(tmp_path_factory, model_dir):
    """A folder whose cache has curves, so that nothing is measured while a test goes on."""
    home = tmp_path_factory.mktemp("home")
    timing = {"best": 1.0, "median": 1.0, "runs": 1}
    rows = [{"context": n, **dict.fromkeys(KINDS, timing)} for n in QUICK_CONTEXTS + LONG_CONTEXTS]
    CurveStore(home / "cache" / "kvtui", model_dir, "float64").save(Curves(tuple(rows)))
    return home


@pytest.fixture
def start(home, model_dir):
    """Start the app in a terminal of some size, perhaps after other code, and wait until it is there."""
    terminals = []

    def start(size=(120, 40), until="q quit", before=None, answers=None):
        program = ["-c", f"{before}\n{MAIN}"] if before else ["-m", "kvtui"]
        arguments = [*program, "--model", model_dir, "--prompt", PROMPT]
        terminals.append(Terminal(*arguments, folder=home, size=size, answers=answers))
        if until:
            terminals[-1].wait_for(until)
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


@pytest.fixture
def session(model_dir):
    """The same run, without a screen."""
    return Session(GPT.load(model_dir, "float64"), CharTokenizer.load(model_dir / "vocab.json"), PROMPT)


def panel(terminal, title):
    """What stands in a panel at the left, below its title."""
    inner = terminal.text.partition(f"╭─ {title} ─")[2].partition("╰")[0].splitlines()[1:]
    return "\n".join(line.partition("│")[2].partition("│")[0][1:].rstrip() for line in inner).rstrip()


def shows(terminal, session):
    """Whether the screen is where a session is: the text, the cache, and what is expected next."""
    snapshot = session.snapshot()
    text = snapshot.prompt + snapshot.generated
    expected = [percent(candidate.probability) for candidate in snapshot.candidates]
    shown = re.findall(r"(<?[\d.]+ %) +│", terminal.text)
    return (
        panel(terminal, "Text") == text[:-1] + Look().glyph(text[-1])
        and f"KV cache · {snapshot.cache.stored} of 12 positions" in terminal.text
        and len(shown) > 5
        and shown == expected[: len(shown)]
    )


def picture(terminal):
    """The cells, with their colours; of a line that tells a time only the text, without it."""
    return [
        TIME.sub("", text) if TIME.search(text) else cells
        for text, cells in zip(terminal.lines, terminal.cells, strict=True)
    ]


def go_past_the_limit(terminal):
    """To a state in which much is on the screen, at any size, and no time where the screen is small."""
    terminal.press("l")
    terminal.wait_for("Character 12 took the last place")
    terminal.press("space", "space", "n")
    terminal.wait_for("Character 14: the naive cache")


def test_the_first_picture_has_live_figures(start, session):
    terminal = start()
    terminal.wait_for("Prefill: the prompt's 3 characters")
    terminal.wait_until(lambda: shows(terminal, session))
    assert re.search(r"prefill [\d.]+ ms for 3", terminal.text)


def test_space_and_b_do_on_the_screen_what_they_do_in_a_session(start, session):
    terminal = start()
    for key in ["space"] * 4 + ["b"] * 2 + ["space"] * 3:
        terminal.press(key)
        session.back() if key == "b" else session.step()
        terminal.wait_until(lambda: shows(terminal, session), complaint=f"not what {key} does")


def test_l_runs_to_the_limit_and_space_goes_past_it(start, session):
    terminal = start()
    terminal.press("l")
    while session.length < 12:
        session.step()
    terminal.wait_until(lambda: shows(terminal, session))
    for length in (13, 14):
        terminal.press("space")
        session.step()
        terminal.wait_for(f"Character {length} is past the limit")
        terminal.wait_until(lambda: shows(terminal, session))


def test_n_shows_both_models(start, session):
    terminal = start()
    assert "◇ naive slide" not in terminal.text
    go_past_the_limit(terminal)
    while session.length < 14:
        session.step()
    assert "◆ real model" in terminal.text
    assert "◇ naive slide" in terminal.text
    assert f"agree {session.snapshot().policy('naive slide').comparisons.agreed} of 2" in terminal.text
    terminal.press("n")
    terminal.wait_until(lambda: "◇ naive slide" not in terminal.text)


def test_help_opens_and_closes(start):
    terminal = start()
    before = terminal.lines[:20]
    terminal.press("?")
    terminal.wait_for("A real GPT writes one character a step.")
    terminal.press("escape")
    terminal.wait_until(lambda: terminal.lines[:20] == before)


def test_p_takes_a_new_prompt(start, session):
    terminal = start()
    terminal.press("space", "p")
    terminal.wait_for("enter begins")
    terminal.press(*"hex")
    terminal.wait_for("3 characters. The model does not know 'x'.")
    terminal.press("backspace")
    terminal.wait_for("2 characters.")
    terminal.press(*"ad", "enter")
    session.begin("head")
    terminal.wait_until(lambda: shows(terminal, session))


def test_another_size_leaves_nothing_of_the_one_before(start):
    terminal = start()
    go_past_the_limit(terminal)

    def looks_as(fresh):
        fresh.read()
        return picture(terminal) == picture(fresh)

    afresh = {size: start(size) for size in SMALL_SIZES}
    for fresh in afresh.values():
        go_past_the_limit(fresh)
    for size in [*SMALL_SIZES, *reversed(SMALL_SIZES[:-1])]:
        terminal.resize(*size)
        complaint = f"not as afresh at {size}"
        terminal.wait_until(lambda size=size: looks_as(afresh[size]), complaint=complaint)

    fresh = start()
    go_past_the_limit(fresh)
    terminal.resize(120, 40)
    for each in (terminal, fresh):  # back at the prompt, where the charts have no times of this run
        each.press(*"b" * 11)
        each.wait_for("Back to 3 characters")
    terminal.wait_until(lambda: looks_as(fresh), complaint="not as afresh at (120, 40)")


@pytest.mark.parametrize("how", ENDS, ids=str)
def test_however_it_ends_the_terminal_is_as_it_was(start, how):
    terminal = start(answers=ANSWERS)
    terminal.wait_for(b"\x1b[?1016h")
    status, output = terminal.end(how)
    assert status == ENDS[how]
    assert terminal.modes.keys() == MODES
    assert terminal.left_behind == []
    assert b"Traceback" not in output


@pytest.mark.parametrize("number", SIGNALS, ids=str)
@pytest.mark.parametrize("sign", [b"\x1b[?1049h", b"\x1b[?2004h"], ids=["alternate screen", "paste"])
def test_a_signal_while_it_starts_leaves_the_terminal_as_it_was(start, number, sign):
    terminal = start(until=sign, answers=ANSWERS)
    status, output = terminal.end(number)
    assert status == 128 + number
    assert terminal.left_behind == []
    assert b"Traceback" not in output


@pytest.mark.parametrize("number", SIGNALS, ids=str)
@pytest.mark.parametrize(("module", "name"), [("kvtui.loading", "GPT.load"), ("kvtui.app", "KvtuiApp.run")])
def test_a_signal_before_it_has_the_terminal_ends_it_at_once(start, number, module, name):
    """Ended by the signal itself, which a shell counts as the same status; or on Ctrl-C in words."""
    before = "import signal, {0}\n{0}.{1} = lambda *_: signal.raise_signal({2:d})"
    status, output = start(until=None, before=before.format(module, name, number)).end()
    assert status in (-number, 128 + number)
    assert output in (b"", b"kvtui: interrupted\r\n")


def test_a_signal_while_it_quits_leaves_the_terminal_as_it_was(start):
    terminal = start(answers=ANSWERS)
    terminal.wait_for(b"\x1b[?1016h")
    terminal.press("q")
    terminal.wait_for(b"\x1b[?1000l")
    status, output = terminal.end(Signals.SIGTERM)
    assert status in (0, -15, 143)
    assert terminal.left_behind == []
    assert b"Traceback" not in output


def test_a_signal_ends_it_while_the_model_computes(start, home):
    before = "import pathlib, time\nfrom kvtui.session import Session\n"
    before += "Session.step = lambda _: (pathlib.Path('stepping').touch(), time.sleep(3600))"
    terminal = start(before=before)
    terminal.press("space")
    terminal.wait_until((home / "stepping").exists, complaint="no step")
    assert terminal.end(Signals.SIGTERM)[0] == 143
    assert terminal.left_behind == []


def test_what_sends_a_signal_may_also_say_go_on(start):
    """As systemd and timeout do, in case that a program is stopped."""
    terminal = start(answers=ANSWERS)
    status, _ = terminal.end(Signals.SIGTERM, Signals.SIGCONT)
    assert status == 143
    assert terminal.left_behind == []


def test_a_signal_ends_it_while_it_is_stopped(start):
    terminal = start()
    terminal.press("ctrl+z")
    terminal.wait_until(lambda: terminal.stopped, complaint="not stopped")
    terminal.settle()
    assert terminal.left_behind == []
    status, output = terminal.end(Signals.SIGTERM, Signals.SIGCONT)
    assert status in (-15, 143)
    assert terminal.left_behind == []
    assert b"Traceback" not in output


def test_it_ends_with_its_terminal(start):
    terminal = start(answers=ANSWERS)
    terminal.wait_for(b"\x1b[?1016h")
    terminal.press("r")
    terminal.wait_for("running")
    terminal.hang_up()
    assert terminal.process.wait(PATIENCE) == 129


def test_a_signal_ends_it_where_the_terminal_takes_nothing(start):
    terminal = start(before="import kvtui.terminal; kvtui.terminal.PATIENCE = 1")
    terminal.press(*["up"] * 5, "r")
    before = 0
    while not (before and before == terminal.unread):  # until nothing more fits in
        before = terminal.unread
        time.sleep(0.5)
    terminal.send(Signals.SIGTERM)
    assert terminal.process.wait(PATIENCE) == 143


def test_a_signal_that_is_ignored_stays_so(start):
    terminal = start(before="import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    terminal.send(Signals.SIGTERM)
    terminal.press("space")
    terminal.wait_for("4 of 12 positions")
    assert terminal.end("q")[0] == 0


async def test_without_a_terminal_signals_are_left_alone(session):
    before = [signal.getsignal(number) for number in SIGNALS]
    async with TerminalApp(session).run_test() as pilot:
        await pilot.press("space")
        assert [signal.getsignal(number) for number in SIGNALS] == before


def test_ctrl_c_as_a_key_says_how_to_quit(start):
    terminal = start()
    terminal.press("ctrl+c")
    terminal.wait_for("to quit the app")


def test_any_keys_at_any_size_leave_it_alive(start):
    choose = random.Random(0)
    terminal = start()
    for _ in range(40):
        terminal.press(*choose.choices(ANY_KEYS, k=8))
        written = len(terminal.output)
        terminal.resize(choose.randint(1, 160), choose.randint(1, 50))
        terminal.wait_until(lambda written=written: len(terminal.output) > written)
    terminal.resize(120, 40)
    for _ in range(2):  # a dialog, and a screen of the laboratory below it
        terminal.press("escape")
        terminal.settle()
    terminal.wait_until(lambda: "KV cache · " in terminal.text and "escape " not in terminal.text)
    status, output = terminal.end("ctrl+q")
    assert status == 0
    assert b"Error" not in output


@pytest.mark.parametrize("how", ["ctrl+z", Signals.SIGTSTP, Signals.SIGSTOP], ids=str)
def test_stopped_and_continued_it_has_a_full_picture(start, session, how):
    terminal = start()
    terminal.press(how) if how == "ctrl+z" else terminal.send(how)
    terminal.wait_until(lambda: terminal.stopped, complaint="not stopped")
    terminal.settle()
    if how != Signals.SIGSTOP:  # of which nobody is told
        assert terminal.left_behind == []
    terminal.wipe()
    terminal.send(Signals.SIGCONT)
    entered = b"\x1b[?1049h"
    terminal.wait_until(lambda: terminal.output.count(entered) == 2, complaint="not entered again")
    terminal.wait_until(lambda: shows(terminal, session), complaint="no full picture")
    assert terminal.end("q")[0] == 0
    assert terminal.left_behind == []
