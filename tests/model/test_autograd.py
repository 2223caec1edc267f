import math

import numpy as np
import pytest

from model.autograd import (
    Tensor,
    add,
    causal_attention,
    cross_entropy,
    embedding,
    gelu,
    layer_norm,
    linear,
    multiply,
    reshape,
    transpose,
)

KEEP = (
    np.random.default_rng(0).integers(0, 2, (2, 3, 4, 4)).astype(np.float32) / 0.5
)  # a dropout mask (B, H, T, T)
IDS = np.array([[3, 0, 3], [3, 1, 0]])
TARGETS = np.array([2, 0, 2, 1])

# name: (operation on tensors, shapes of its arguments)
OPERATIONS = {
    "add": (add, [(3, 4), (3, 4)]),
    "add a row": (add, [(3, 4), (4,)]),
    "add to a row": (add, [(4,), (3, 4)]),
    "add a column to a row": (add, [(3, 1), (1, 4)]),
    "add across three axes": (add, [(2, 1, 4), (3, 1)]),
    "add a number": (add, [(), (2, 3)]),
    "multiply": (multiply, [(3, 4), (3, 4)]),
    "multiply by a row": (multiply, [(3, 4), (4,)]),
    "multiply a row": (multiply, [(4,), (3, 4)]),
    "multiply a column by a row": (multiply, [(3, 1), (1, 4)]),
    "multiply by a number": (multiply, [(2, 3), ()]),
    "reshape": (lambda a: reshape(a, (3, -1)), [(2, 6)]),
    "transpose": (transpose, [(2, 5)]),
    "linear": (linear, [(4, 3), (3, 5), (5,)]),
    "linear without a bias": (linear, [(4, 3), (3, 5)]),
    "embedding": (lambda table: embedding(table, IDS), [(5, 3)]),
    "embedding of one row": (lambda table: embedding(table, np.array([2, 2])), [(5, 3)]),
    "layer norm": (lambda *args: layer_norm(*args, 1e-2), [(4, 5), (5,), (5,)]),
    "gelu": (gelu, [(3, 5)]),
    "attention": (lambda qkv: causal_attention(qkv, 3), [(2, 4, 18)]),
    "attention with dropout": (lambda qkv: causal_attention(qkv, 3, KEEP), [(2, 4, 18)]),
    "attention of one token": (lambda qkv: causal_attention(qkv, 2), [(3, 1, 12)]),
    "cross entropy": (lambda logits: cross_entropy(logits, TARGETS), [(4, 3)]),
    "one tensor added to itself": (lambda a: add(a, a), [(2, 3)]),
    "one tensor squared": (lambda a: multiply(a, a), [(2, 3)]),
    "one tensor in two branches": (lambda a, w: add(gelu(linear(a, w)), a), [(4, 3), (3, 3)]),
    "a diamond": (lambda a: multiply(gelu(add(a, a)), transpose(transpose(a))), [(2, 3)]),
}
parametrized = pytest.mark.parametrize(("operation", "shapes"), OPERATIONS.values(), ids=OPERATIONS)


def arguments(shapes, dtype="float64"):
    rng = np.random.default_rng(1)
    return [rng.normal(0, 1.5, shape).astype(dtype) for shape in shapes]


def weighted_sum(tensor, weights):
    """A scalar that depends on every element of a tensor differently."""
    return Tensor(np.asarray((tensor.data * weights).sum()), (tensor,), lambda g: (g * weights,))


def loss_of(operation, tensors):
    out = operation(*tensors)
    weights = np.random.default_rng(2).standard_normal(out.data.shape).astype(out.data.dtype)
    return weighted_sum(out, weights)


def finite_differences(function, array, step=1e-5):
    """Central differences of a number by every element of an array, which it is a function of."""
    slopes = np.empty(array.shape)
    for index in np.ndindex(array.shape):
        middle = array[index]
        array[index] = middle + step
        above = function()
        array[index] = middle - step
        slopes[index] = (above - function()) / (2 * step)
        array[index] = middle
    return slopes


@parametrized
def test_gradients_are_the_slopes(operation, shapes):
    arrays = arguments(shapes)
    tensors = [Tensor(array.copy()) for array in arrays]
    loss_of(operation, tensors).backward()
    for tensor, array in zip(tensors, arrays, strict=True):
        slopes = finite_differences(
            lambda: float(loss_of(operation, [Tensor(a) for a in arrays]).data), array
        )
        assert tensor.grad.shape == array.shape
        assert np.abs(tensor.grad - slopes).max() <= 1e-8 * max(1, np.abs(slopes).max())


@parametrized
def test_arguments_are_left_as_they_were(operation, shapes):
    arrays = arguments(shapes)
    tensors = [Tensor(array) for array in arrays]
    loss_of(operation, tensors).backward()
    assert all(map(np.array_equal, arrays, arguments(shapes)))


@parametrized
def test_float32_stays_float32(operation, shapes):
    tensors = [Tensor(array) for array in arguments(shapes, "float32")]
    out = operation(*tensors)
    assert out.data.dtype == np.float32
    weighted_sum(out, np.ones(out.data.shape, np.float32)).backward()
    assert {tensor.grad.dtype for tensor in tensors} == {np.dtype("float32")}


def test_linear_is_a_product_and_a_sum():
    x, weight, bias = arguments([(4, 3), (3, 5), (5,)])
    out = linear(Tensor(x), Tensor(weight), Tensor(bias)).data
    expected = [
        [sum(x[n, i] * weight[i, o] for i in range(3)) + bias[o] for o in range(5)] for n in range(4)
    ]
    assert np.allclose(out, expected, rtol=1e-14, atol=1e-14)


def test_embedding_picks_rows():
    (table,) = arguments([(5, 3)])
    out = embedding(Tensor(table), IDS).data
    assert out.tolist() == [[table[i].tolist() for i in row] for row in IDS]


def test_layer_norm_has_mean_0_and_variance_1_before_its_gain_and_bias():
    x, gain, bias = arguments([(4, 50), (50,), (50,)])
    out = (layer_norm(Tensor(x), Tensor(gain), Tensor(bias), 1e-12).data - bias) / gain
    assert np.allclose(out.mean(axis=1), 0, atol=1e-13)
    assert np.allclose(out.var(axis=1), 1, atol=1e-9)


def test_epsilon_is_added_to_the_variance():
    x = np.array([[-1.0, 1.0]])
    out = layer_norm(Tensor(x), Tensor(np.ones(2)), Tensor(np.zeros(2)), 3.0).data
    assert out.tolist() == [[-0.5, 0.5]]


def test_gelu_follows_its_tanh_formula(assert_close):
    (x,) = arguments([(3, 5)])
    inner = math.sqrt(2 / math.pi)
    expected = [0.5 * u * (1 + math.tanh(inner * (u + 0.044715 * u**3))) for u in x.flat]
    assert_close(gelu(Tensor(x)).data, np.reshape(expected, x.shape), 1e-14)


@pytest.mark.parametrize("keep", [None, KEEP], ids=["whole", "dropout"])
def test_attention_is_that_of_one_query_after_the_other(keep, assert_close):
    B, T, H, D = 2, 4, 3, 2
    (qkv,) = arguments([(B, T, 3 * H * D)])
    q, k, v = np.split(qkv, 3, axis=-1)
    expected = np.zeros((B, T, H * D))
    for b, t, h in np.ndindex(B, T, H):
        part = slice(h * D, (h + 1) * D)
        weights = [math.exp(q[b, t, part] @ k[b, s, part] / math.sqrt(D)) for s in range(t + 1)]
        for s, weight in enumerate(weights):
            kept = 1 if keep is None else float(keep[b, h, t, s])
            expected[b, t, part] += kept * weight / sum(weights) * v[b, s, part]
    assert_close(causal_attention(Tensor(qkv), H, keep).data, expected, 1e-14)


def test_cross_entropy_is_the_mean_surprise_at_the_targets():
    (logits,) = arguments([(4, 3)])
    surprises = [
        -math.log(math.exp(row[target]) / sum(map(math.exp, row)))
        for row, target in zip(logits, TARGETS, strict=True)
    ]
    assert float(cross_entropy(Tensor(logits), TARGETS).data) == pytest.approx(
        sum(surprises) / 4, rel=1e-14
    )


def test_cross_entropy_of_huge_logits_does_not_overflow():
    logits = Tensor(np.array([[1e4, 0.0], [0.0, 1e4]]))
    loss = cross_entropy(logits, np.array([0, 0]))
    assert float(loss.data) == 5000
    loss.backward()
    assert logits.grad.tolist() == [[0, 0], [-0.5, 0.5]]


def test_a_leaf_gathers_the_gradients_of_several_graphs():
    a = Tensor(np.array(3.0))
    multiply(a, a).backward()
    add(a, a).backward()
    assert a.grad == 2 * 3 + 2


def test_only_leaves_keep_a_gradient():
    a = Tensor(np.array(3.0))
    inner = multiply(a, a)
    add(inner, a).backward()
    assert a.grad == 2 * 3 + 1
    assert inner.grad is None


def test_a_graph_may_be_deeper_than_the_recursion_limit():
    a = Tensor(np.array(1.0))
    out = a
    for _ in range(5000):
        out = add(out, a)
    out.backward()
    assert a.grad == 5001


def test_backward_starts_at_a_single_number():
    with pytest.raises(ValueError, match=r"starts at a scalar, not at shape \(2,\)"):
        add(Tensor(np.ones(2)), Tensor(np.ones(2))).backward()
