"""What happens past `block_size`, where a model with learned positions has none left to give."""

from model.limit.attention_sinks import AttentionSinks
from model.limit.naive_slide import NaiveSlide
from model.limit.policy import LimitPolicy, LimitReached
from model.limit.recompute import Recompute
from model.limit.refill import Refill
from model.limit.stop import Stop

# The real model first; the others are held against it.
POLICIES: tuple[type[LimitPolicy], ...] = (
    Recompute,
    NaiveSlide,
    AttentionSinks,
    Refill,
    Stop,
)

__all__ = [
    "POLICIES",
    "AttentionSinks",
    "LimitPolicy",
    "LimitReached",
    "NaiveSlide",
    "Recompute",
    "Refill",
    "Stop",
]
