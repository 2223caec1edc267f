"""`kvtui slide --policies`: what can be done at the limit, as a table or as data."""

import json
import os

import pytest

from kvtui.commands.slide_policies import _sawtooth
from model import GPT
from model.experiments.policies import given_texts, policy_rows, written_texts
from model.limit import POLICIES, NaiveSlide, Refill
from model.tokenizer import CharTokenizer

KEYS = ["name", "agreement", "mean_kl", "max_kl", "bits_per_character", "ms_per_step", "cache_bytes"]
LIMIT = 12


@pytest.fixture
def slide(kvtui, model_dir):
    def run(*argv):
        return kvtui("slide", "--model", model_dir, *argv)

    return run


@pytest.fixture
def policies(slide):
    def run(names, *argv):
        status, out, _ = slide("--json", "--policies", names, *argv)
        assert status == 0
        return json.loads(out)

    return run


@pytest.fixture
def text(tmp_path):
    """A text of 160 characters: 8 windows and what follows them, for 7 steps."""
    path = tmp_path / "play.txt"
    path.write_bytes(b"abc [abd]\n-fgh abed\n" * 8)
    return path


def quality(entry):
    return {key: value for key, value in entry.items() if key not in ("ms_per_step", "step_ms")}


def test_the_json_object_has_exactly_these_keys(policies):
    data = policies("all", "--steps", "7", "--starts", "2", "--prompt", "abc")
    assert list(data) == ["policies", "starts", "steps", "text"]
    assert (data["starts"], data["steps"], data["text"]) == (2, 7, None)
    assert [entry["name"] for entry in data["policies"]] == [policy.name for policy in POLICIES]
    for entry in data["policies"]:
        assert list(entry) == [*KEYS, "ranges", "step_ms"]
        assert list(entry["ranges"]) == ["agreement", "mean_kl", "bits_per_character"]


def test_the_figures_are_those_of_the_experiment(policies, model_dir):
    gpt = GPT.load(model_dir)
    prompt = CharTokenizer.load(model_dir / "vocab.json").encode("abc")
    (row,) = policy_rows(gpt, written_texts(gpt, prompt, 3, 7, seed=4), [NaiveSlide])
    argv = ["--steps", "7", "--starts", "3", "--prompt", "abc", "--seed", "4"]
    (entry,) = policies("naive-slide", *argv)["policies"]
    assert quality(entry) == {
        "name": "naive slide",
        "agreement": row.agreement.mean,
        "mean_kl": row.mean_kl.mean,
        "max_kl": row.max_kl,
        "bits_per_character": row.bits_per_character.mean,
        "cache_bytes": row.cache_bytes,
        "ranges": {
            "agreement": [row.agreement.low, row.agreement.high],
            "mean_kl": [row.mean_kl.low, row.mean_kl.high],
            "bits_per_character": [row.bits_per_character.low, row.bits_per_character.high],
        },
    }
    assert row.mean_kl.low < row.mean_kl.high
    assert len(entry["step_ms"]) == 7
    assert min(entry["step_ms"]) > 0 < entry["ms_per_step"]


def test_times_are_in_milliseconds(policies, monkeypatch):
    class Clock:
        now = 0.0

        def perf_counter(self):
            self.now += 0.25
            return self.now

    monkeypatch.setattr("model.generate.time", Clock())
    (entry,) = policies("refill", "--steps", "3", "--starts", "2", "--prompt", "abc")["policies"]
    assert (entry["ms_per_step"], entry["step_ms"]) == (250, [250] * 3)


def test_five_starting_points_and_fifty_steps_unless_told_otherwise(policies):
    data = policies("naive-slide", "--prompt", "abc")
    assert (data["starts"], data["steps"]) == (5, 50)


def test_a_policy_that_ends_has_no_figures(policies, slide):
    (entry,) = policies("stop", "--steps", "2", "--prompt", "abc")["policies"]
    assert entry.pop("cache_bytes") > 0
    assert entry == {
        "name": "stop",
        **dict.fromkeys(KEYS[1:-1]),
        "ranges": {"agreement": None, "mean_kl": None, "bits_per_character": None},
        "step_ms": [],
    }
    last = slide("--policies", "stop", "--steps", "2", "--prompt", "abc").out.splitlines()[-1]
    assert last.split()[:6] == ["stop", *"-----"]


def test_some_policies_may_be_named_and_each_counts_once(policies):
    data = policies("refill,naive-slide,refill", "--steps", "2", "--starts", "1", "--prompt", "abc")
    assert [entry["name"] for entry in data["policies"]] == ["refill", "naive slide"]


def test_a_name_may_stand_as_json_has_it(policies):
    assert [entry["name"] for entry in policies("naive slide,refill")["policies"]] == [
        "naive slide",
        "refill",
    ]


def test_what_is_no_file_is_refused_and_not_waited_for(refused, model_dir, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path, ""):
        line = refused("slide", "--policies", "all", "--text", path, "--model", model_dir)
        assert "must be a file, not a folder, a pipe or a device" in line


def test_the_name_of_a_file_does_nothing_to_the_terminal(slide, text):
    out = slide("--policies", "stop", "--text", text.rename(text.with_name("a\x1b[31m\nb"))).out
    assert "\x1b" not in out
    assert r"in a\x1b[31m\nb, 50 steps" in out


def test_a_text_of_ones_own_is_read(policies, text, model_dir):
    gpt = GPT.load(model_dir)
    tokens = CharTokenizer.load(model_dir / "vocab.json").encode(text.read_text(encoding="utf-8"))
    (row,) = policy_rows(gpt, given_texts(gpt, tokens, 3, 7), [Refill])
    data = policies("refill", "--steps", "7", "--starts", "3", "--text", text)
    assert (data["text"], data["starts"]) == ("play.txt", 3)
    assert data["policies"][0]["bits_per_character"] == row.bits_per_character.mean
    assert policies("refill", "--steps", "7", "--starts", "99", "--text", text)["starts"] == 8


def test_a_byte_order_mark_is_no_character(policies, text):
    plain = policies("recompute", "--steps", "7", "--text", text)
    text.write_bytes(b"\xef\xbb\xbf" + text.read_bytes())
    marked = policies("recompute", "--steps", "7", "--text", text)
    assert [quality(e) for e in marked["policies"]] == [quality(e) for e in plain["policies"]]


def test_people_get_a_table_that_says_how_it_was_measured(slide, text):
    status, out, err = slide("--policies", "all", "--steps", "7", "--starts", "3", "--text", text)
    assert status == 0
    source, method, head, *rows, sawtooth = out.splitlines()
    assert source == "3 starting points in play.txt, 7 steps past the limit from each"
    assert "warm-up left out" in method
    assert "KL(real || policy) in nats" in method
    assert [len(line) for line in rows] == [len(head)] * len(POLICIES)
    assert rows[0].split()[:5] == ["real", "model", "100", "%", "0.000"]
    assert "naive slide  " in rows[1]
    assert rows[1].count(" - ") == 3  # ranges
    assert sawtooth.startswith("refill: ")
    assert err == "".join(f"starting point {n} of 3\n" for n in (1, 2, 3))


def test_without_a_file_the_real_model_draws_the_texts(slide):
    out = slide("--policies", "stop", "--steps", "1", "--starts", "1", "--prompt", "abc").out
    expected = "1 starting point in texts that the real model draws, 1 step past the limit from each\n"
    assert out.startswith(expected)


def test_a_range_is_shown_where_there_is_one(slide):
    out = slide("--policies", "naive-slide", "--steps", "7", "--starts", "1", "--prompt", "abc").out
    assert "(" not in out.splitlines()[-1]


def test_the_sawtooth_is_on_one_scale():
    assert _sawtooth([0.008, 0.001, 0.002, 0.001]) == "refill: █▂▃▂ 8.00 ms at most, median 1.50 ms\n"
    assert "█" + "▁" * 63 + " " in _sawtooth([1.0] + [0.0] * 1000)
    assert "▁▁▁" in _sawtooth([0.0] * 3)


@pytest.mark.parametrize("names", ["", "naive", "all,stop", "stop,", "Refill"])
def test_a_policy_that_there_is_not_is_refused_with_those_that_there_are(refused, names):
    line = refused("slide", "--policies", names)
    assert "must be all, or some of recompute,naive-slide,attention-sinks,refill,stop" in line


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--text", "play.txt"], "--text goes with --policies"),
        (["--starts", "3"], "--starts goes with --policies"),
        (["--anatomy", "--text", "play.txt"], "--text goes with --policies"),
        (["--anatomy", "--policies", "all"], "not allowed with argument --anatomy"),
        (["--policies", "all", "--text", "play.txt", "--prompt", "a"], "leave out either it or --text"),
        (["--policies", "all", "--starts", "0"], "from 1"),
        (["--policies", "all", "--steps", "0", "--prompt", "a"], "at least one step"),
        (["--policies", "all", "--prompt", ""], "the prompt is empty"),
        (["--policies", "all", "--prompt", "é"], "does not know 'é'"),
        (["--policies", "all", "--text", "none.txt"], "none.txt: No such file"),
    ],
)
def test_what_does_not_go_together_is_refused(refused, model_dir, argv, told):
    assert told in refused("slide", "--model", model_dir, *argv)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "has 0 characters; a window of 12, 50 after it and one to predict need 63"),
        (b"a" * 62, "has 62 characters"),
        (b"abc\xff", "is not text in UTF-8"),
        ("abc é".encode() * 50, "does not know 'é'"),
        (b"abc\r\n" * 50, r"does not know '\r'"),  # line ends stay as they are
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_name(refused, text, model_dir, content, told):
    text.write_bytes(content)
    line = refused("slide", "--policies", "all", "--text", text, "--model", model_dir)
    assert told in line
    assert "play.txt" in line
