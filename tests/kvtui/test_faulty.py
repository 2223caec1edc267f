"""A run with a fault goes beside the sound one, and what is measured tells the two apart."""

from itertools import count

import pytest

from kvtui.session import Session
from model import GPTConfig
from model.faults import FAULTS
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"


@pytest.fixture
def make_session(perturbed):
    return lambda: Session(perturbed(CONFIG), CharTokenizer(CHARACTERS), "abcab", clock=count().__next__)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_every_fault_is_noticed_somewhere_on_the_way_and_the_sound_run_is_as_without(make_session, fault):
    session, alone = make_session(), make_session()
    session.set_fault(fault)
    noticed = set()
    for move in ["step"] * 4 + ["back", "step"] * 2 + ["step"] * 8:
        for run in (session, alone):
            getattr(run, move)()
        faulty = session.snapshot().faulty
        noticed |= {meter.name for meter in faulty.meters if meter.notices}
        assert len(faulty.generated) == len(session.snapshot().generated)
        assert (faulty.differs_at is None) == (faulty.generated == session.snapshot().generated)
    assert noticed
    assert session.snapshot().text == alone.snapshot().text
    session.set_fault(None)
    assert session.snapshot() == alone.snapshot()


def test_a_fault_that_is_switched_on_late_has_written_as_much(make_session):
    early, late = make_session(), make_session()
    early.set_fault(FAULTS[0])
    for session in (early, late):
        for _ in range(9):
            session.step()
    late.set_fault(FAULTS[0])
    assert late.snapshot().faulty == early.snapshot().faulty


def test_another_prompt_begins_the_faulty_run_anew(make_session):
    session = make_session()
    session.set_fault(FAULTS[0])
    session.step()
    session.begin("hg")
    assert session.snapshot().faulty.generated == ""
    session.step()
    assert len(session.snapshot().faulty.generated) == 1


def test_steps_taken_back_leave_the_faulty_run_as_it_was(make_session):
    session = make_session()
    session.set_fault(FAULTS[0])
    states = []
    for _ in range(11):
        states.append(session.snapshot().faulty)
        session.step()
    for state in reversed(states):
        session.back()
        assert session.snapshot().faulty == state
