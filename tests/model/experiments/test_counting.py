"""Multiply-adds are those of the matrix products."""

import pytest

from model import GPTConfig
from model.experiments.counting import balance_context, cached_multiply_adds, uncached_multiply_adds

CONFIG = GPTConfig(n_layer=3, n_head=2, n_embd=8, block_size=64, vocab_size=13, n_inner=20)
# One position through c_attn, c_proj, c_fc and c_proj of each layer, and the head.
POSITION = 3 * (8 * 24 + 8 * 8 + 8 * 20 + 20 * 8) + 8 * 13


def attended(queries_and_columns):
    """Scores and mixes: for each query, layer and column, C multiply-adds twice."""
    return sum(3 * 2 * 8 * columns for columns in queries_and_columns)


def test_a_cached_step_computes_one_position():
    assert cached_multiply_adds(CONFIG, 10) == POSITION + attended([10])


def test_all_scores_at_once_compute_every_column_for_every_row():
    assert uncached_multiply_adds(CONFIG, 10, None) == 10 * POSITION + attended([10] * 10)


@pytest.mark.parametrize(("rows", "columns"), [(1, range(1, 11)), (4, [4] * 4 + [8] * 4 + [10] * 2)])
def test_blocks_compute_the_columns_that_their_last_row_sees(rows, columns):
    assert uncached_multiply_adds(CONFIG, 10, rows) == 10 * POSITION + attended(columns)


def test_attention_equals_the_matrices_at_six_times_the_width():
    config = GPTConfig(4, 4, 128, 128, 65)
    assert balance_context(config) == 6 * 128
    matrices = 12 * 128 * 128
    assert 2 * 128 * balance_context(config) == matrices
