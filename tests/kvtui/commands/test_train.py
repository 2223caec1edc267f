"""`kvtui train`: a whole model or none, the same to the bit whether interrupted or not."""

import errno
import hashlib
import json
import math
import signal
import sys

import numpy as np
import pytest

from kvtui.commands import train as command
from model import GPT
from model.files import write_whole
from model.tokenizer import CharTokenizer
from model.train import CHECKPOINT, AdamW, Training

FILES = {"config.json", "vocab.json", "README.md", "model.safetensors"}


@pytest.fixture(autouse=True)
def short_sample(monkeypatch):
    """A sample takes longer than the training of a tiny model."""
    monkeypatch.setattr(command, "SAMPLE_LENGTH", 20)


def names(directory):
    return {path.name for path in directory.iterdir()}


def interrupt_at(monkeypatch, step):
    """Press Ctrl-C within a step: its parameters are updated, and the step is not yet counted."""
    update = AdamW.update

    def pressed(self, at):
        update(self, at)
        if at == step:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(AdamW, "update", pressed)


def fill_disk_at(monkeypatch, name):
    """Let every write of one file find no room, half-way."""

    def limited(path, write):
        def fail(temporary):
            temporary.write_bytes(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

        write_whole(path, fail if path.name == name else write)

    monkeypatch.setattr("model.files.write_whole", limited)


def test_a_model_directory_is_written_and_nothing_else(train, kvtui, tmp_path):
    assert train(tmp_path / "out").status == 0
    assert names(tmp_path / "out") == FILES
    gpt, tokenizer = GPT.load(tmp_path / "out"), CharTokenizer.load(tmp_path / "out" / "vocab.json")
    assert (gpt.config.n_layer, gpt.config.n_head, gpt.config.n_embd, gpt.config.block_size) == (1, 2, 8, 4)
    assert set(tokenizer.characters) == set("abcd []-é\r\n")
    assert kvtui("generate", "abc", "-n", "9", "--model", tmp_path / "out").status == 0
    assert kvtui("verify", "--model", tmp_path / "out").status == 0


def test_the_json_object_has_exactly_these_keys(train, tmp_path):
    status, out, _ = train(tmp_path / "out", "--json")
    data = json.loads(out)
    assert status == 0
    assert list(data) == ["directory", "parameters", "steps", "validation_loss"]
    assert data["directory"] == str(tmp_path / "out")
    assert data["steps"] == 6
    assert data["parameters"] == sum(p.size for p in GPT.load(tmp_path / "out").parameters.values())


def test_people_get_progress_and_the_result_on_standard_error(train, tmp_path):
    status, out, err = train(tmp_path / "out")
    assert (status, out) == (0, "")
    assert "step 6 of 6 · loss " in err
    assert "nats" in err.splitlines()[-1]


def test_the_card_says_what_the_model_was_made_from(train, corpus, tmp_path):
    data = json.loads(train(tmp_path / "out", "--json", "--source", "a [made] | up text").out)
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert card.startswith("---\nlibrary_name: transformers\npipeline_tag: text-generation\n")
    assert hashlib.sha256(corpus.read_bytes()).hexdigest() in card
    assert "a [made] \\| up text" in card
    assert f"{data['parameters']:,}" in card
    assert f"{data['validation_loss']:.4f}" in card
    assert f"{data['validation_loss'] / math.log(2):.4f}" in card
    assert "kvtui train text.txt --out out --steps 6 " in card
    assert str(tmp_path) not in card


def test_the_sample_in_the_card_can_be_written_again(train, kvtui, tmp_path):
    train(tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_bytes().decode()
    options = ["-n", 20, "--temperature", "0.8", "--seed", "1337", "--json"]
    data = json.loads(kvtui("generate", "a", "--model", tmp_path / "out", *options).out)
    assert f"```\na{data['text']}\n```" in card


def test_paths_in_the_card_are_cut_however_they_are_typed(kvtui, corpus, tmp_path):
    options = "--steps=1 --layers=1 --width=4 --block-size=4".split()
    assert kvtui("train", *options, f"--out={tmp_path}/out", corpus).status == 0
    card = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert f"kvtui train {' '.join(options)} --out=out text.txt\n" in card


@pytest.mark.parametrize("step", [0, 1, 3, 5])
def test_an_interrupted_run_goes_on_to_the_same_bytes(train, tmp_path, monkeypatch, step):
    train(tmp_path / "whole")
    with monkeypatch.context() as context:
        interrupt_at(context, step)
        status, out, err = train(tmp_path / "out")
    assert (status, out) == (130, "")
    assert err.splitlines()[-1] == (
        f"kvtui: stopped after {step + 1} of 6 steps; run the same command again to go on"
    )
    assert names(tmp_path / "out") == {CHECKPOINT}

    status, _, err = train(tmp_path / "out")
    assert status == 0
    assert f"going on after step {step + 1}" in err
    assert names(tmp_path / "out") == FILES
    for name in FILES - {"README.md"}:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_killed_run_goes_on_from_its_last_checkpoint(train, tmp_path, monkeypatch):
    train(tmp_path / "whole")
    whole_step = Training.train_step

    def killed(self):
        if self.step == 5:
            raise SystemExit(137)
        return whole_step(self)

    with monkeypatch.context() as context:
        context.setattr(Training, "train_step", killed)
        with pytest.raises(SystemExit):
            train(tmp_path / "out")
    _, _, err = train(tmp_path / "out")
    assert "going on after step 4" in err  # a checkpoint every 2 steps
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "out")]
    assert weights[0] == weights[1]


def test_the_validation_that_goes_along_changes_nothing(train, tmp_path):
    train(tmp_path / "rarely")
    train(tmp_path / "often", "--validate-every", "1")
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("rarely", "often")]
    assert weights[0] == weights[1]


def test_another_seed_is_another_model(train, tmp_path):
    train(tmp_path / "default")
    train(tmp_path / "other", "--seed", "5")
    train(tmp_path / "stated", "--seed", "1337")
    default, other, stated = (
        (tmp_path / name / "model.safetensors").read_bytes() for name in ("default", "other", "stated")
    )
    assert default == stated != other


@pytest.mark.parametrize("text", ["a" * 300, "ab" * 150])
def test_a_text_of_very_few_characters_is_enough(kvtui, tmp_path, text):
    (tmp_path / "text.txt").write_text(text)
    options = "--steps 3 --batch-size 2 --layers 1 --heads 1 --width 4 --block-size 4".split()
    status, out, _ = kvtui("train", tmp_path / "text.txt", "--out", tmp_path / "out", *options, "--json")
    assert status == 0
    assert math.isfinite(json.loads(out)["validation_loss"])


def test_a_byte_order_mark_is_no_character(kvtui, tmp_path):
    (tmp_path / "text.txt").write_text("ab\r\n" * 20, encoding="utf-8-sig", newline="")
    options = "--steps 1 --layers 1 --width 4 --block-size 4".split()
    assert kvtui("train", tmp_path / "text.txt", "--out", tmp_path / "out", *options).status == 0
    assert CharTokenizer.load(tmp_path / "out" / "vocab.json").characters == ("\n", "\r", "a", "b")


class TestRefusals:
    def test_a_directory_with_a_model(self, refused, corpus, model_dir):
        before = {path: path.read_bytes() for path in model_dir.iterdir()}
        assert "model.safetensors" in refused("train", corpus, "--out", model_dir, "--block-size", "4")
        assert {path: path.read_bytes() for path in model_dir.iterdir()} == before

    def test_a_directory_with_a_readme_of_its_own(self, refused, corpus, tmp_path):
        (tmp_path / "README.md").write_text("mine")
        assert "README.md" in refused("train", corpus, "--out", tmp_path, "--block-size", "4")
        assert (tmp_path / "README.md").read_text() == "mine"

    @pytest.mark.parametrize("out", ["text.txt", "text.txt/below"])
    def test_an_out_that_is_no_directory(self, refused, corpus, tmp_path, out):
        assert "--out" in refused("train", corpus, "--out", tmp_path / out, "--block-size", "4")

    def test_a_missing_text(self, refused, tmp_path):
        assert "nothing.txt: No such" in refused("train", tmp_path / "nothing.txt", "--out", tmp_path / "o")

    def test_a_text_that_is_a_directory(self, refused, tmp_path):
        assert "must be a file, not a folder" in refused("train", tmp_path, "--out", tmp_path / "out")

    def test_a_text_that_is_not_utf_8(self, refused, tmp_path):
        (tmp_path / "text.txt").write_bytes(b"caf\xe9 " * 1000)
        line = refused("train", tmp_path / "text.txt", "--out", tmp_path / "out")
        assert "UTF-8" in line
        assert "byte 3" in line
        assert names(tmp_path) == {"text.txt"}

    @pytest.mark.parametrize("length", [0, 1, 40])
    def test_a_text_without_room_for_a_window_to_validate(self, refused, tmp_path, length):
        (tmp_path / "text.txt").write_text("a" * length)
        line = refused("train", tmp_path / "text.txt", "--out", tmp_path / "out", "--block-size", "4")
        assert "at least 41" in line

    def test_the_shortest_text_is_enough(self, kvtui, tmp_path):
        (tmp_path / "text.txt").write_text("a" * 41)
        options = "--steps 1 --layers 1 --width 4 --block-size 4".split()
        assert kvtui("train", tmp_path / "text.txt", "--out", tmp_path / "out", *options).status == 0

    def test_heads_that_do_not_divide_the_width(self, refused, corpus, tmp_path):
        options = ["--block-size", "4", "--width", "10", "--heads", "3"]
        assert "multiple" in refused("train", corpus, "--out", tmp_path / "out", *options)

    def test_a_model_beyond_all_memory(self, refused, corpus, tmp_path):
        options = ["--block-size", "4", "--width", "100000"]
        assert "parameters" in refused("train", corpus, "--out", tmp_path / "out", *options)
        assert not (tmp_path / "out").exists()

    def test_a_checkpoint_of_another_run(self, train, corpus, refused, tmp_path, monkeypatch):
        with monkeypatch.context() as context:
            interrupt_at(context, 2)
            train(tmp_path / "out")
        line = refused("train", corpus, "--out", tmp_path / "out", "--block-size", "4")
        assert "other options" in line

    def test_a_broken_checkpoint(self, refused, corpus, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / CHECKPOINT).write_bytes(b"broken")
        line = refused("train", corpus, "--out", tmp_path / "out", "--block-size", "4")
        assert "not a whole checkpoint" in line

    def test_a_loss_that_is_no_number(self, train, tmp_path):
        status, out, err = train(tmp_path / "out", "--learning-rate", "1e30", "--warmup-steps", "0")
        assert (status, out) == (2, "")
        assert err.count("\n") == 1
        assert "--learning-rate" in err
        assert names(tmp_path / "out") == {CHECKPOINT}


class TestFullDisk:
    @pytest.mark.parametrize("name", sorted(FILES))
    def test_no_half_model_is_left_and_the_run_can_be_finished(self, train, tmp_path, monkeypatch, name):
        with monkeypatch.context() as context:
            fill_disk_at(context, name)
            status, out, err = train(tmp_path / "out")
        assert (status, out) == (2, "")
        line = err.splitlines()[-1]
        assert line == f"kvtui: error: {tmp_path / 'out' / name}: No space left on device"
        left = names(tmp_path / "out")
        assert CHECKPOINT in left
        assert not {"model.safetensors", name} & left
        assert not [hidden for hidden in left if hidden.startswith(".")]

        assert train(tmp_path / "out").status == 0
        assert names(tmp_path / "out") == FILES

    def test_a_checkpoint_that_cannot_be_written_is_told_before_the_first_step(
        self, train, tmp_path, monkeypatch
    ):
        fill_disk_at(monkeypatch, CHECKPOINT)
        monkeypatch.setattr(Training, "train_step", lambda self: pytest.fail("a step was done"))
        status, out, err = train(tmp_path / "out")
        assert (status, out) == (2, "")
        assert err == f"kvtui: error: {tmp_path / 'out' / CHECKPOINT}: No space left on device\n"


def test_a_bar_is_drawn_on_a_terminal_alone(train, tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    status, out, err = train(tmp_path / "out", "--validate-every", "2")
    assert (status, out) == (0, "")
    assert "6/6" in err
    assert "validation" in err
    assert "step 6 of 6" not in err


def test_the_model_that_is_written_is_the_one_that_was_trained(train, tmp_path, monkeypatch):
    trained = []
    validation_loss = Training.validation_loss
    monkeypatch.setattr(
        Training, "validation_loss", lambda self: trained.append(self) or validation_loss(self)
    )
    train(tmp_path / "out")
    written = GPT.load(tmp_path / "out", "float32").parameters
    for name, parameter in trained[-1].parameters.items():
        assert np.array_equal(parameter.data, written[name])
