"""Tiny models in directories and on the screen, a text, and a command line to run on them."""

from typing import NamedTuple

import pytest

from kvtui import cli
from kvtui.app import KvtuiApp
from kvtui.keys import KeyBar
from kvtui.panels.panel import Panel
from kvtui.panels.sentence import Sentence
from kvtui.panels.tour import TourBox
from kvtui.session import Session
from model import GPTConfig
from model.directory import write_model
from model.tokenizer import CharTokenizer

CHARACTERS = "\n -abcdefgh[]"
CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=len(CHARACTERS))


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def kvtui(capsys):
    """Run a command line in this process."""

    def run(*argv):
        capsys.readouterr()
        status = cli.main(list(map(str, argv)))
        return Outcome(status, *capsys.readouterr())

    return run


@pytest.fixture
def refused(kvtui):
    """Run a command line that is bad input: status 2, nothing but one line, and that on standard error.

    The line is returned.
    """

    def run(*argv):
        status, out, err = kvtui(*argv)
        assert status == 2
        assert out == ""
        assert err.startswith("kvtui: error: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        return err

    return run


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory, perturbed):
    """A model of 12 positions that knows 13 characters, and whose attention is strong: sliding shows."""
    directory = tmp_path_factory.mktemp("models") / "tiny"
    directory.mkdir()
    parameters = {
        name: 3 * parameter if ".attn." in name else parameter
        for name, parameter in perturbed(CONFIG, "float32").parameters.items()
    }
    write_model(directory, CONFIG, parameters, CharTokenizer(CHARACTERS), "a card\n")
    return directory


@pytest.fixture
def copied_model(model_dir, tmp_path):
    """The same, to be spoilt."""
    directory = tmp_path / "copy"
    directory.mkdir()
    for file in model_dir.iterdir():
        (directory / file.name).write_bytes(file.read_bytes())
    return directory


@pytest.fixture
def corpus(tmp_path):
    """A text of 650 characters, of 11 kinds."""
    path = tmp_path / "text.txt"
    path.write_text("abc [abd]\r\n-é" * 50, encoding="utf-8", newline="")
    return path


TINY = "--steps 6 --batch-size 2 --layers 1 --heads 2 --width 8 --block-size 4 --checkpoint-every 2".split()


@pytest.fixture
def train(kvtui, corpus):
    """Train a tiny model on the text, into a directory."""
    return lambda out, *options: kvtui("train", corpus, "--out", out, *TINY, *options)


@pytest.fixture
def press():
    """Press keys on a screen, and wait after each until what it asked for is done and painted."""

    async def press_keys(app, pilot, *keys):
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
            await app.settled()
        await pilot.pause()

    return press_keys


@pytest.fixture
def make_app(perturbed):
    """Makes a screen of a model of 12 positions that knows 11 characters; not in a terminal."""

    def make(prompt="abc", look=None, **options):
        config = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
        return KvtuiApp(Session(perturbed(config), CharTokenizer("abcdefgh [\n"), prompt), look, **options)

    return make


@pytest.fixture
def screen_text():
    """What the panels, the sentence and the key bar show, as plain text."""

    def text(app):
        widgets = [
            *app.main.query(Panel),
            app.main.query_one(TourBox),
            app.main.query_one(Sentence),
            app.main.query_one(KeyBar),
        ]
        return "\n".join(
            strip.text for w in widgets if w.display for strip in w.render_lines(w.outer_size.region)
        )

    return text
