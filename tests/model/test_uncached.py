import numpy as np
import pytest

from model import forward_uncached

BLOCKS = [1, 2, 3, 5, 8, 15, 16, 17, 100]


@pytest.mark.parametrize("block_rows", [None, *BLOCKS])
def test_the_logits_are_gpt2s_in_blocks_of_any_size(gpt, block_rows, plain, text_of, assert_close):
    text = text_of(gpt.config, 16)
    assert_close(forward_uncached(gpt, text, block_rows), plain(gpt).logits(text), 1e-13)


@pytest.mark.parametrize("block_rows", BLOCKS)
@pytest.mark.parametrize("T", [1, 7, 16])
def test_in_blocks_and_all_at_once_agree_to_rounding(gpt, block_rows, T, text_of, assert_close):
    text = text_of(gpt.config, T)
    assert_close(forward_uncached(gpt, text, block_rows), forward_uncached(gpt, text), 2e-14)


@pytest.mark.parametrize("block_rows", [None, 3])
def test_it_agrees_with_the_cached_forward(gpt, block_rows, text_of, cache_with, assert_close):
    text = text_of(gpt.config, 16)
    assert_close(forward_uncached(gpt, text, block_rows), gpt.forward(text, cache_with(gpt)), 2e-14)


@pytest.mark.parametrize(
    ("options", "blocks"), [({"block_rows": 4}, [(4, 4, 4), (4, 8, 8), (3, 11, 11)]), ({}, [(11, 11, 11)])]
)
def test_a_block_attends_only_to_the_columns_its_rows_can_see(
    odd_gpt, options, blocks, text_of, monkeypatch
):
    sizes = []

    def spy(q, keys, values):
        sizes.append((q.shape[1], keys.shape[1], values.shape[1]))
        return values[:, -q.shape[1] :]

    monkeypatch.setattr("model.uncached.causal_attention", spy)
    forward_uncached(odd_gpt, text_of(odd_gpt.config, 11), **options)
    assert sizes == blocks * odd_gpt.config.n_layer


@pytest.mark.parametrize("block_rows", [None, 3])
def test_float32_stays_float32(gpt32, block_rows, text_of):
    assert forward_uncached(gpt32, text_of(gpt32.config, 7), block_rows).dtype == np.float32


@pytest.mark.parametrize("block_rows", [None, 3])
def test_what_is_not_a_sequence_of_ids_is_refused(odd_gpt, bad_tokens, block_rows):
    with pytest.raises(ValueError, match="token"):
        forward_uncached(odd_gpt, bad_tokens, block_rows)


def test_a_text_beyond_the_last_position_is_refused(gpt, text_of):
    with pytest.raises(ValueError, match="positions 0 to 15, not 16"):
        forward_uncached(gpt, text_of(gpt.config, 17))


@pytest.mark.parametrize("block_rows", [0, -1])
def test_blocks_without_rows_are_refused(odd_gpt, block_rows):
    with pytest.raises(ValueError, match="block_rows must be at least 1"):
        forward_uncached(odd_gpt, [1, 2], block_rows)


@pytest.mark.parametrize("block_rows", [None, 3])
@pytest.mark.parametrize("positions", [[3, 4, 5, 6, 7], [0, 2, 2, 15, 1]])
def test_tokens_can_be_taken_as_if_they_stood_elsewhere(
    gpt, positions, block_rows, plain, text_of, assert_close
):
    text, model = text_of(gpt.config, 5), plain(gpt)
    memory = model.new_memory()
    expected = np.array([model.step(*at, memory) for at in zip(text, positions, strict=True)])
    assert_close(forward_uncached(gpt, text, block_rows, np.array(positions)), expected, 1e-13)


@pytest.mark.parametrize("positions", [[0], [0, 1, 2], [0, -1], [[0, 1]], [0, 16]], ids=str)
def test_positions_that_cannot_be_are_refused(odd_gpt, positions):
    with pytest.raises(ValueError, match="position"):
        forward_uncached(odd_gpt, [1, 2], positions=np.array(positions))
