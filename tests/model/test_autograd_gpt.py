import numpy as np
import pytest

from model import GPTConfig
from model.autograd import Tensor, cross_entropy
from model.autograd_gpt import Dropout, autograd_logits

TINY = GPTConfig(n_layer=2, n_head=2, n_embd=6, block_size=4, vocab_size=5, n_inner=7)
TOKENS = np.array([[0, 3, 1, 3], [4, 4, 2, 0]])
TARGETS = np.array([3, 1, 3, 2, 4, 2, 0, 1])


def as_tensors(arrays):
    return {name: Tensor(array) for name, array in arrays.items()}


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-13), ("float32", 1e-5)])
def test_the_logits_are_gpt2s_for_every_sequence(
    gpt, dtype, tolerance, perturbed, plain, text_of, assert_close
):
    model = perturbed(gpt.config, dtype)
    texts = [text_of(gpt.config, 16, seed) for seed in (1, 2, 3)]
    logits = autograd_logits(gpt.config, as_tensors(model.parameters), np.array(texts)).data
    assert logits.dtype == dtype
    expected = np.concatenate([plain(model).logits(text) for text in texts])
    assert_close(logits, expected, tolerance)


def test_a_sequence_may_be_shorter_than_the_trained_length(gpt, plain, text_of, assert_close):
    text = text_of(gpt.config, 5)
    logits = autograd_logits(gpt.config, as_tensors(gpt.parameters), np.array([text])).data
    assert_close(logits, plain(gpt).logits(text), 1e-13)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_gradient_of_the_loss_is_its_slope_by_every_parameter(perturbed, share):
    arrays = {name: array.copy() for name, array in perturbed(TINY).parameters.items()}

    def loss(tensors):
        dropout = Dropout(share, np.random.default_rng(5)) if share else None
        return cross_entropy(autograd_logits(TINY, tensors, TOKENS, dropout), TARGETS)

    tensors = as_tensors({name: array.copy() for name, array in arrays.items()})
    loss(tensors).backward()
    rng = np.random.default_rng(0)
    for name, array in arrays.items():
        for flat in rng.choice(array.size, size=min(4, array.size), replace=False):
            index = np.unravel_index(flat, array.shape)
            middle = array[index]
            around = []
            for shifted in (middle + 1e-5, middle - 1e-5):
                array[index] = shifted
                around.append(float(loss(as_tensors(arrays)).data))
            array[index] = middle
            slope = (around[0] - around[1]) / 2e-5
            assert tensors[name].grad[index] == pytest.approx(slope, rel=1e-6, abs=1e-9), name


def test_float32_gradients_stay_float32(gpt32, text_of):
    tensors = as_tensors(gpt32.parameters)
    tokens = np.array([text_of(gpt32.config, 9)])
    dropout = Dropout(0.1, np.random.default_rng(0))
    logits = autograd_logits(gpt32.config, tensors, tokens[:, :-1], dropout)
    cross_entropy(logits, tokens[0, 1:]).backward()
    assert {tensor.grad.dtype for tensor in tensors.values()} == {np.dtype("float32")}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("share", [0.1, 0.5])
def test_dropout_zeroes_a_share_and_keeps_the_expectation(share, dtype):
    mask = Dropout(share, np.random.default_rng(0)).mask((200, 200), np.dtype(dtype))
    assert mask.dtype == dtype
    assert set(mask.flat) == {0, np.dtype(dtype).type(1 / (1 - share))}
    # Five standard errors of a share over 40,000 draws are 0.0125 at most.
    assert abs((mask == 0).mean() - share) < 0.0125


def test_dropout_multiplies_by_its_mask():
    x = np.random.default_rng(1).standard_normal((5, 6))
    mask = Dropout(0.4, np.random.default_rng(2)).mask(x.shape, x.dtype)
    out = Dropout(0.4, np.random.default_rng(2))(Tensor(x))
    assert np.array_equal(out.data, x * mask)


def test_dropout_falls_anew_on_every_call():
    dropout = Dropout(0.5, np.random.default_rng(0))
    masks = [dropout.mask((10, 10), np.dtype("float64")) for _ in range(2)]
    assert not np.array_equal(*masks)


def test_dropout_reaches_the_embedding_the_attention_and_both_outputs_of_a_layer(odd_gpt, text_of):
    shapes = []

    class Spy(Dropout):
        def mask(self, shape, dtype):
            shapes.append(shape)
            return super().mask(shape, dtype)

    tokens = np.array([text_of(odd_gpt.config, 6)] * 2)
    spy = Spy(0.1, np.random.default_rng(0))
    autograd_logits(odd_gpt.config, as_tensors(odd_gpt.parameters), tokens, spy)
    stream = (12, 15)
    assert shapes == [stream, *[(2, 3, 6, 6), stream, stream] * 2]
