"""`kvtui verify`: passes on a sound engine, fails on a faulty one."""

import json

import numpy as np
import pytest

from kvtui.commands import verify
from model import GPTConfig
from model.decoder import Decoder
from model.directory import write_model
from model.experiments.exactness import Check
from model.faults import FAULTS
from model.tokenizer import CharTokenizer


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


@pytest.mark.parametrize("name", ["position-restarts", "half-precision", "trim-does-nothing"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_with_a_fault_it_fails_and_says_which_checks_notice(kvtui, model_dir, name, dtype):
    options = ["verify", "--model", model_dir, "--dtype", dtype, "--with-fault", name]
    status, out, err = kvtui(*options)
    _, *rows, verdict = out.splitlines()
    failed = [row for row in rows if row.endswith(" FAILED")]
    assert (status, err) == (1, "")
    assert verdict.startswith(f"{name} is noticed by {len(failed)} of {len(rows)} checks: ")
    assert failed
    assert all(row[:34].rstrip() in verdict for row in failed)

    status, out, _ = kvtui(*options, "--json")
    data = json.loads(out)
    assert status == 1
    assert list(data) == ["passed", "tolerance", "checks", "fault"]
    assert (data["passed"], data["fault"]) == (False, name)
    assert len(failed) == sum(not check["passed"] for check in data["checks"])

    assert kvtui("verify", "--model", model_dir).status == 0  # nothing of it is left


def test_a_fault_that_does_nothing_in_a_model_is_noticed_by_no_check(kvtui, tmp_path, perturbed):
    config = GPTConfig(n_layer=1, n_head=1, n_embd=8, block_size=8, vocab_size=len("ab"))
    write_model(tmp_path, config, perturbed(config, "float32").parameters, CharTokenizer("ab"), "a card\n")
    status, out, _ = kvtui("verify", "--model", tmp_path, "--with-fault", "keys-of-another-head")
    assert status == 0
    assert out.splitlines()[-1].startswith("no check notices keys-of-another-head")


def test_an_unknown_fault_is_refused_with_the_names_of_those_that_are_known(refused):
    line = refused("verify", "--with-fault", "gremlins")
    assert "gremlins" in line
    assert all(fault.name in line for fault in FAULTS)


def test_it_needs_no_vocabulary(kvtui, copied_model):
    (copied_model / "vocab.json").unlink()
    assert kvtui("verify", "--model", copied_model).status == 0
