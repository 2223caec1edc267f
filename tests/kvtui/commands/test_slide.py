"""`kvtui slide`: the naive cache beside the real model."""

import json

import pytest


@pytest.fixture
def slide(kvtui, model_dir):
    def run(*argv):
        status, out, err = kvtui("slide", "--json", "--model", model_dir, "--prompt", "abc", *argv)
        assert (status, err) == (0, "")
        return json.loads(out)

    return run


def test_the_json_object_has_exactly_these_keys(slide):
    data = slide("--steps", "20")
    assert list(data) == ["steps", "agree", "agreement", "mean_kl", "first_difference", "per_step"]
    assert data["steps"] == len(data["per_step"]) == 20
    for step in data["per_step"]:
        assert list(step) == ["position", "real", "naive", "agree", "kl"]
        assert len(step["real"]) == len(step["naive"]) == 1
        assert step["agree"] is (step["real"] == step["naive"])


def test_the_figures_are_those_of_the_steps(slide):
    data = slide("--steps", "30")
    steps = data["per_step"]
    differing = [step["position"] for step in steps if not step["agree"]]
    assert [step["position"] for step in steps] == list(range(13, 43))  # the model has 12 positions
    assert 0 < data["agree"] == 30 - len(differing) < 30  # or this model shows nothing
    assert data["agreement"] == data["agree"] / 30
    assert data["mean_kl"] == pytest.approx(sum(step["kl"] for step in steps) / 30)
    assert data["first_difference"] == differing[0]


def test_no_steps_have_no_figures(slide, kvtui, model_dir):
    data = slide("--steps", "0")
    assert data == {
        "steps": 0,
        "agree": 0,
        "agreement": None,
        "mean_kl": None,
        "first_difference": None,
        "per_step": [],
    }
    status, out, _ = kvtui("slide", "--steps", "0", "--model", model_dir, "--prompt", "abc")
    assert status == 0
    assert out.endswith("no steps\n")


def test_people_get_a_row_for_each_step_and_a_summary(kvtui, slide, model_dir):
    status, out, _ = kvtui("slide", "--model", model_dir, "--prompt", "abc", "--steps", "30")
    _, *rows, summary = out.splitlines()
    data = slide("--steps", "30")
    assert status == 0
    assert len(rows) == 30
    assert sum("same" in row for row in rows) == data["agree"]
    assert f"{data['agree']} of 30" in summary
    assert f"first difference at {data['first_difference']}" in summary


def test_a_model_that_does_not_know_the_default_prompt_begins_with_its_first_character(kvtui, model_dir):
    _, by_default, _ = kvtui("slide", "--json", "--model", model_dir)
    assert by_default == kvtui("slide", "--json", "--model", model_dir, "--prompt", "\n").out


def test_an_empty_prompt_is_refused(refused, model_dir):
    assert "empty" in refused("--json", "slide", "--prompt", "", "--model", model_dir)
