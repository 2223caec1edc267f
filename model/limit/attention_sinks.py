"""Attention sinks: the naive slide, except that the first few entries stay."""

from model.limit.naive_slide import NaiveSlide


class AttentionSinks(NaiveSlide):
    """Keep the first entries, which much attention rests on, and slide the others (Xiao et al. 2023).

    Their StreamingLLM gives positions within the cache, which needs a model that adds them when it
    attends, as rotary ones do. Learned positions are baked in when a key is computed: here the sinks
    have their rightful ones, and all others are as wrong as those of the naive slide.
    """

    name = "attention sinks"

    KEPT = 4  # as in the paper
