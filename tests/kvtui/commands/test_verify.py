"""`kvtui verify`: passes on a sound engine, fails on a faulty one."""

import json

import numpy as np
import pytest

from kvtui.commands import verify
from model.decoder import Decoder
from model.experiments.exactness import Check


def test_the_json_object_has_exactly_these_keys(kvtui, model_dir):
    status, out, err = kvtui("verify", "--json", "--model", model_dir)
    data = json.loads(out)
    assert (status, err) == (0, "")
    assert list(data) == ["passed", "tolerance", "checks"]
    assert data["passed"] is True
    assert len(data["checks"]) > 10
    for check in data["checks"]:
        assert list(check) == ["name", "steps", "max_abs_diff", "max_abs_logit", "passed"]
        assert check["passed"] is True
        assert check["max_abs_diff"] <= data["tolerance"] * check["max_abs_logit"]


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 2e-14), ("float32", 1e-5)])
def test_the_tolerance_is_that_of_the_dtype(kvtui, model_dir, dtype, tolerance):
    data = json.loads(kvtui("verify", "--json", "--model", model_dir, "--dtype", dtype).out)
    assert data["tolerance"] == tolerance


def test_people_get_a_row_for_each_check_and_a_verdict(kvtui, model_dir):
    status, out, err = kvtui("verify", "--model", model_dir)
    header, *rows, verdict = out.splitlines()
    assert (status, err) == (0, "")
    assert "largest difference" in header
    assert len(rows) == len(json.loads(kvtui("verify", "--json", "--model", model_dir).out)["checks"])
    assert all(row.endswith(" ok") for row in rows)
    assert verdict.startswith("all paths agree")
    assert "2e-14" in verdict


def test_a_faulty_engine_fails_with_status_1(kvtui, model_dir, monkeypatch):
    step = Decoder.step
    monkeypatch.setattr(Decoder, "step", lambda self, token: step(self, token) + 1e-9)
    status, out, _ = kvtui("verify", "--json", "--model", model_dir)
    data = json.loads(out)
    assert status == 1
    assert data["passed"] is False
    assert {check["name"]: check["passed"] for check in data["checks"]}["decoding at every step"] is False

    status, out, _ = kvtui("verify", "--model", model_dir)
    assert status == 1
    assert " FAILED\n" in out
    assert out.splitlines()[-1].startswith("FAILED")


def test_a_difference_that_is_no_number_is_null(kvtui, model_dir, monkeypatch):
    broken = Check("broken", 1, np.nan, np.inf, passed=False)
    monkeypatch.setattr(verify, "exactness", lambda *_: iter([broken]))
    status, out, _ = kvtui("verify", "--json", "--model", model_dir)
    check = json.loads(out)["checks"][0]
    assert (status, check["max_abs_diff"], check["max_abs_logit"]) == (1, None, None)


def test_it_needs_no_vocabulary(kvtui, copied_model):
    (copied_model / "vocab.json").unlink()
    assert kvtui("verify", "--model", copied_model).status == 0
