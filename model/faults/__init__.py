"""Faults on purpose: mistakes that KV caches have had in public, to be put into the engine for a while.

`with fault.active():` the engine has it, and after the block it has not. What the logits are then held
against is `forward_uncached`, which no fault reaches. Begin with `fault.py`; then a file a kind.
"""

from model.faults.attention import (
    EVICTED_BEFORE_SEEN,
    FUTURE_SEEN,
    KEYS_OF_ANOTHER_HEAD,
    MASK_NOT_OFFSET,
    UNWRITTEN_ENTRY_READ,
)
from model.faults.fault import Fault
from model.faults.feeding import LAST_PROMPT_TOKEN_TWICE, ONE_TOO_MANY
from model.faults.forgetting import RESET_LEAVES_SOME, TRIM_DOES_NOTHING, TRIMS_ONE_TOO_MANY
from model.faults.positions import COUNTED_IN_EVERY_LAYER, HOLE_AFTER_PROMPT, POSITION_RESTARTS
from model.faults.storage import HALF_PRECISION, ROOM_NOT_CHECKED, SHARED_MEMORY

FAULTS: tuple[Fault, ...] = (
    POSITION_RESTARTS,
    HOLE_AFTER_PROMPT,
    COUNTED_IN_EVERY_LAYER,
    MASK_NOT_OFFSET,
    FUTURE_SEEN,
    EVICTED_BEFORE_SEEN,
    UNWRITTEN_ENTRY_READ,
    KEYS_OF_ANOTHER_HEAD,
    SHARED_MEMORY,
    HALF_PRECISION,
    ROOM_NOT_CHECKED,
    RESET_LEAVES_SOME,
    TRIM_DOES_NOTHING,
    TRIMS_ONE_TOO_MANY,
    LAST_PROMPT_TOKEN_TWICE,
    ONE_TOO_MANY,
)

__all__ = ["FAULTS", "Fault"]
