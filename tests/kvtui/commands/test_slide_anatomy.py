"""`kvtui slide --anatomy`: the two faults of the naive slide, as a table or as data."""

import json

import pytest

PAIRS = ["positions_only", "naive", "stale"]


@pytest.fixture
def slide(kvtui, model_dir):
    def run(*argv):
        status, out, err = kvtui("slide", "--model", model_dir, "--prompt", "abc", *argv)
        assert (status, err) == (0, "")
        return out

    return run


def test_the_json_object_has_exactly_these_keys(slide):
    data = json.loads(slide("--anatomy", "--json", "--steps", "20"))
    assert list(data) == ["anatomy", "entries"]
    assert list(data["anatomy"]) == ["per_step", "summary"]
    assert [step["position"] for step in data["anatomy"]["per_step"]] == list(range(13, 33))
    for step in data["anatomy"]["per_step"]:
        assert list(step) == ["position", *PAIRS]
        assert all(list(step[pair]) == ["kl", "agree"] for pair in PAIRS)


def test_the_summary_is_that_of_the_steps(slide):
    anatomy = json.loads(slide("--anatomy", "--json", "--steps", "20"))["anatomy"]
    for pair in PAIRS:
        steps = [step[pair] for step in anatomy["per_step"]]
        assert anatomy["summary"][pair] == {
            "agreement": sum(step["agree"] for step in steps) / 20,
            "mean_kl": pytest.approx(sum(step["kl"] for step in steps) / 20),
        }


def test_the_naive_slide_in_it_is_that_of_the_plain_command(slide):
    anatomy = json.loads(slide("--anatomy", "--json", "--steps", "20"))["anatomy"]
    plain = json.loads(slide("--json", "--steps", "20"))["per_step"]
    assert [step["naive"] for step in anatomy["per_step"]] == [
        {"kl": step["kl"], "agree": step["agree"]} for step in plain
    ]


def test_the_entries_are_those_after_the_last_step(slide):
    entries = json.loads(slide("--anatomy", "--json", "--steps", "3"))["entries"]
    written = json.loads(slide("--json", "--steps", "4"))["per_step"]
    assert list(entries[0]) == ["character", "baked_position", "rightful_position"]
    assert [entry["rightful_position"] for entry in entries] == list(range(12))
    assert [entry["baked_position"] for entry in entries] == [3, 4, 5, 6, 7, 8, 9, 10, 11, 11, 11, 11]
    # The first character past the limit was chosen before the first of these steps.
    assert "".join(e["character"] for e in entries[-2:]) == "".join(s["real"] for s in written[:2])


def test_no_steps_have_no_figures(slide):
    nothing = {"agreement": None, "mean_kl": None}
    assert json.loads(slide("--anatomy", "--json", "--steps", "0")) == {
        "anatomy": {"per_step": [], "summary": dict.fromkeys(PAIRS, nothing)},
        "entries": [],
    }
    assert slide("--anatomy", "--steps", "0").endswith("no steps\n")


def test_people_get_a_row_for_each_step_and_one_of_means(slide):
    data = json.loads(slide("--anatomy", "--json", "--steps", "20"))["anatomy"]
    *legend, head = slide("--anatomy", "--steps", "0").splitlines()[:-1]
    *_, means = lines = slide("--anatomy", "--steps", "20").splitlines()
    rows = [line.split() for line in lines[len(legend) + 1 : -1]]
    assert [line.split(":")[0] for line in legend] == ["positions", "both", "stale"]
    assert [len(line) for line in lines[len(legend) :]] == [len(head)] * 22
    assert [row[0] for row in rows] == [str(step["position"]) for step in data["per_step"]]
    for i, pair in enumerate(PAIRS):
        marks, kls = ([row[1 + 2 * i + j] for row in rows] for j in (0, 1))
        assert marks == ["same" if step[pair]["agree"] else "differ" for step in data["per_step"]]
        assert kls == [f"{step[pair]['kl']:.4f}" for step in data["per_step"]]
    summary = data["summary"].values()
    assert means.split() == [
        "mean",
        *(cell for s in summary for cell in (f"{s['agreement']:.0%}"[:-1], "%", f"{s['mean_kl']:.4f}")),
    ]
