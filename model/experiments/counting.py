"""Multiply-adds of a forward pass, counted: what a step should cost, if only arithmetic cost anything."""

from model.config import GPTConfig


def position_multiply_adds(config: GPTConfig) -> int:
    """Of one position, attention over the stored ones left out: the layers' matrices and the head."""
    C, M = config.n_embd, config.mlp_width
    return config.n_layer * (4 * C * C + 2 * C * M) + C * config.vocab_size


def attention_multiply_adds(config: GPTConfig, seen: int) -> int:
    """Of one query over `seen` positions, in all layers: a score and a share of a value for each."""
    return config.n_layer * 2 * config.n_embd * seen


def cached_multiply_adds(config: GPTConfig, context: int) -> int:
    """Of the step that takes in token number `context`."""
    return position_multiply_adds(config) + attention_multiply_adds(config, context)


def uncached_multiply_adds(config: GPTConfig, context: int, block_rows: int | None) -> int:
    """Of the full forward pass over `context` tokens, the columns computed in vain included."""
    rows = block_rows or context
    seen = sum(
        (min(start + rows, context) - start) * min(start + rows, context)
        for start in range(0, context, rows)
    )
    return context * position_multiply_adds(config) + attention_multiply_adds(config, seen)


def balance_context(config: GPTConfig) -> int:
    """The context at which a cached step spends as much on attention as on the layers' matrices.

    2 C S = 4 C C + 2 C M, so S = 2 C + M: six times the width where the MLP has GPT-2's.
    """
    return 2 * config.n_embd + config.mlp_width
