"""A run with a fault goes beside the sound one, and what is measured tells the two apart."""

from itertools import count

import pytest

from kvtui.session import Session
from kvtui.snapshot import BaselineMode
from model import GPTConfig
from model.faults import FAULTS, Fault
from model.sampling import greedy, make_sampler
from model.tokenizer import CharTokenizer

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
CHARACTERS = "abcdefgh [\n"

each_fault = pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)


@pytest.fixture
def make_session(perturbed):
    return lambda: Session(perturbed(CONFIG), CharTokenizer(CHARACTERS), "abcab", clock=count().__next__)


@each_fault
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


@each_fault
def test_a_fault_that_is_switched_on_late_writes_the_same_text(make_session, fault):
    early, late = make_session(), make_session()
    early.set_fault(fault)
    for session in (early, late):
        session.set_sampler(make_sampler(1.5, seed=3))
        for rank in [None] * 3 + [4, None, 2]:
            session.step(rank)
        session.set_sampler(greedy)
        for _ in range(8):
            session.step()
    late.set_fault(fault)
    late.catch_up()
    assert late.snapshot().faulty == early.snapshot().faulty


def test_it_follows_in_slices_and_a_step_meanwhile_is_no_hurry(make_session):
    session = make_session()
    for _ in range(9):
        session.step()
    session.set_fault(FAULTS[0])
    assert session.snapshot().faulty.behind == 9
    session.catch_up(0)
    assert session.snapshot().faulty.behind == 8
    session.step()
    assert session.snapshot().faulty.behind == 8
    for _ in range(5):
        session.back()
    assert session.snapshot().faulty.behind == 3
    session.catch_up()
    assert session.snapshot().faulty.behind == 0


def test_characters_that_the_user_took_are_not_the_faults_doing(make_session):
    session = make_session()
    session.set_fault(next(fault for fault in FAULTS if fault.name == "half-precision"))
    session.set_sampler(make_sampler(2.0, seed=1))
    for rank in [5, None, 9, 3, None] * 3:
        session.step(rank)
    session.set_sampler(make_sampler(2.0, seed=2))
    session.step()
    faulty = session.snapshot().faulty
    assert faulty.differs_at is None
    assert not next(meter for meter in faulty.meters if meter.name == "text").notices


def test_another_prompt_begins_the_faulty_run_anew(make_session):
    session = make_session()
    session.set_fault(FAULTS[0])
    session.step()
    session.begin("hg")
    assert session.snapshot().faulty.generated == ""
    session.step()
    assert len(session.snapshot().faulty.generated) == 1


# Of these a step back spoils the cache: that is what they are.
SPOILT_BY_TRIM = {
    "trim-does-nothing",
    "trims-one-too-many",
    "unwritten-entry-read",
    "counted-in-every-layer",
}


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.name not in SPOILT_BY_TRIM], ids=lambda fault: fault.name
)
def test_steps_taken_back_leave_the_faulty_run_as_it_was(make_session, fault):
    session = make_session()
    session.set_fault(fault)
    states = []
    for _ in range(11):
        states.append(session.snapshot().faulty)
        session.step()
    for state in reversed(states):
        session.back()
        session.catch_up()
        assert session.snapshot().faulty == state


def exactly(session):
    """All that the next steps of the faulty run depend on."""
    run = session._faulty
    return list(run.text), run._logits.tobytes(), run._policy.cache.offset, run._full_steps


@each_fault
@pytest.mark.parametrize("kept", [1, 2, 100])
def test_past_the_limit_every_step_back_is_exact_kept_or_computed_anew(
    make_session, fault, monkeypatch, kept
):
    session = make_session()
    cache = session._real.cache
    monkeypatch.setattr("kvtui.faulty.UNDO_BYTES", kept * cache.nbytes)
    session.set_fault(fault)
    there = []
    for _ in range(14):
        there.append((exactly(session), session.snapshot().faulty))
        session.step()
    anew = []
    for before in there[:-6:-1]:
        session.back()
        anew.append(session.behind > 0)
        session.catch_up()
        assert (exactly(session), session.snapshot().faulty) == before
    assert anew[:kept] == [False] * min(kept, 5)
    assert kept > 5 or anew[kept]


@pytest.mark.parametrize("go_back", [Session.back, lambda session: session.back_to(7)], ids=["1", "3"])
def test_what_was_chosen_and_taken_back_is_forgotten(make_session, go_back):
    session = make_session()
    for rank in (5, None, 9, 3, 8):
        session.step(rank)
    go_back(session)
    for rank in (7, None, 4):
        session.step(rank)
    session.set_fault(next(fault for fault in FAULTS if fault.name == "half-precision"))
    session.catch_up()
    faulty = session.snapshot().faulty
    assert faulty.generated == session.snapshot().generated
    assert faulty.differs_at is None


def breaking(place):
    """A fault that breaks off, wherever it is put in."""

    def fails(*_):
        raise FloatingPointError("a broken fault")

    return Fault("broken", "It breaks.", "nowhere", ((place, lambda sound: fails),))


def test_where_it_cannot_go_back_it_is_switched_off_and_the_sound_run_is_back(make_session):
    session, alone = make_session(), make_session()
    for run in (session, alone):
        run.set_baseline(BaselineMode.ALL)
    session.set_fault(breaking("cache.KVCache.trim"))
    for run in (session, alone):
        for _ in range(4):
            run.step()
    alone.back()
    with pytest.raises(FloatingPointError, match="a broken fault"):
        session.back()
    assert session.behind == 0
    assert session.snapshot() == alone.snapshot()


def test_where_the_sound_run_fails_to_go_back_by_a_trim_it_is_computed_anew(make_session, monkeypatch):
    session, alone = make_session(), make_session()
    session.set_fault(FAULTS[0])
    for run in (session, alone):
        for _ in range(4):
            run.step()
    with monkeypatch.context() as patch:
        patch.setattr(Session, "_trimmed", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            session.back()
    alone.back()
    assert session.snapshot().text == alone.snapshot().text
    assert session.snapshot().cache == alone.snapshot().cache
    assert (session.behind, session.baseline) == (0, None)
    assert session.snapshot().went_back
    session.step()
    alone.step()
    assert session.snapshot().candidates == alone.snapshot().candidates


def test_where_not_even_the_baseline_can_be_measured_the_session_does_not_begin_anew(
    make_session, monkeypatch
):
    session = make_session()
    session.set_baseline(BaselineMode.ALL)
    session.step()
    before = session.snapshot()
    monkeypatch.setattr("kvtui.session.forward_uncached", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        session.begin("hg")
    assert session.snapshot() == before


def test_a_faulty_run_that_breaks_off_is_switched_off_and_the_sound_step_stands(make_session):
    session = make_session()
    session.set_fault(breaking("decoder.Decoder.step"))
    with pytest.raises(FloatingPointError, match="a broken fault"):
        session.step()
    assert session.length == 6
    assert session.snapshot().faulty is None
    session.step()
    assert session.length == 7


def test_a_fault_that_cannot_begin_changes_nothing(make_session):
    session = make_session()
    session.set_fault(FAULTS[0])
    session.step()
    before = session.snapshot()
    with pytest.raises(FloatingPointError):
        session.set_fault(breaking("limit.policy.prefill"))
    assert session.snapshot() == before


@pytest.mark.parametrize("block_size", [1, 2, 3])
@each_fault
def test_models_of_a_few_positions_run_with_every_fault(perturbed, fault, block_size):
    config = GPTConfig(n_layer=1, n_head=1, n_embd=4, block_size=block_size, vocab_size=11)
    session = Session(perturbed(config), CharTokenizer(CHARACTERS), "abcab", clock=count().__next__)
    session.set_fault(fault)
    for move in ["step"] * 5 + ["back"] * 2 + ["step"]:
        getattr(session, move)()
        session.catch_up()
    assert len(session.snapshot().faulty.generated) == 4
