"""A small reverse-mode engine on NumPy arrays: each operation with its backward rule beside it.

An operation computes its result and returns it as a `Tensor` that remembers its parents and a rule:
given dL/d(result), the rule returns dL/d(parent) for every parent. `Tensor.backward` walks the graph
from the loss to the leaves and applies the rules; a gradient whose parent was broadcast is summed back
to the parent's shape there, once for all operations.

The heavy operations (linear, layer_norm, gelu, causal_attention, cross_entropy) are written out whole
instead of being composed of small ones: fewer passes over memory, and the derivative in one place.

Shapes: N rows (batch x time), B sequences of T tokens, H heads, D head_dim, C width, V vocabulary.
"""

from collections.abc import Callable

import numpy as np

from model.ops import GELU_CUBIC, GELU_SCALE

Array = np.ndarray
BackwardRule = Callable[[Array], tuple[Array | None, ...]]


class Tensor:
    """An array in a graph. `grad` is filled by `backward` on leaves (tensors without parents)."""

    def __init__(
        self, data: Array, parents: tuple["Tensor", ...] = (), rule: BackwardRule | None = None
    ) -> None:
        self.data = data
        self.parents = parents
        self.rule = rule
        self.grad: Array | None = None

    def backward(self) -> None:
        """Add d(self)/d(leaf) to every leaf's `grad`; self must be a scalar.

        The graph is taken apart on the way, so that memory is freed early: one call per graph.
        """
        if self.data.size != 1:
            raise ValueError(f"backward starts at a scalar, not at shape {self.data.shape}")
        self.grad = np.ones_like(self.data)
        for tensor in reversed(self._topological_order()):
            if tensor.rule is None:
                continue
            assert tensor.grad is not None
            grads = tensor.rule(tensor.grad)
            for parent, grad in zip(tensor.parents, grads, strict=True):
                if grad is None:
                    continue
                grad = _sum_to_shape(grad, parent.data.shape)
                parent.grad = grad if parent.grad is None else parent.grad + grad
            tensor.grad = tensor.rule = None
            tensor.parents = ()

    def _topological_order(self) -> list["Tensor"]:
        """Every tensor of the graph, parents before children; no recursion, so any depth."""
        order: list[Tensor] = []
        seen: set[int] = set()
        stack: list[tuple[Tensor, bool]] = [(self, False)]
        while stack:
            tensor, parents_done = stack.pop()
            if parents_done:
                order.append(tensor)
            elif id(tensor) not in seen:
                seen.add(id(tensor))
                stack.append((tensor, True))
                stack.extend((parent, False) for parent in tensor.parents)
        return order


def _sum_to_shape(grad: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of a broadcast: the sum over every axis that was repeated."""
    if grad.shape == shape:
        return grad
    grad = grad.sum(axis=tuple(range(grad.ndim - len(shape))))
    repeated = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(axis=repeated, keepdims=True)


def add(a: Tensor, b: Tensor) -> Tensor:
    """a + b, broadcast."""
    return Tensor(a.data + b.data, (a, b), lambda g: (g, g))


def multiply(a: Tensor, b: Tensor) -> Tensor:
    """a * b, element by element, broadcast."""
    return Tensor(a.data * b.data, (a, b), lambda g: (g * b.data, g * a.data))


def reshape(a: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The same numbers in another shape."""
    return Tensor(a.data.reshape(shape), (a,), lambda g: (g.reshape(a.data.shape),))


def transpose(a: Tensor) -> Tensor:
    """A matrix (m, n) as (n, m)."""
    return Tensor(a.data.T, (a,), lambda g: (g.T,))


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x (N, in) @ weight (in, out) + bias (out,)."""
    out = x.data @ weight.data
    if bias is not None:
        out += bias.data

    def rule(g: Array) -> tuple[Array, ...]:
        grads = (g @ weight.data.T, x.data.T @ g)
        return grads if bias is None else (*grads, g.sum(axis=0))

    return Tensor(out, (x, weight) if bias is None else (x, weight, bias), rule)


def embedding(table: Tensor, ids: Array) -> Tensor:
    """Rows of table (V, C) picked by integer ids, of any shape: the result is ids.shape + (C,)."""

    def rule(g: Array) -> tuple[Array]:
        # One product with a one-hot matrix adds up repeated rows far faster than np.add.at.
        one_hot = (np.arange(len(table.data))[:, None] == ids.reshape(-1)).astype(g.dtype)
        return (one_hot @ g.reshape(-1, table.data.shape[1]),)

    return Tensor(table.data[ids], (table,), rule)


def layer_norm(x: Tensor, gain: Tensor, bias: Tensor, epsilon: float) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * gain + bias over the last axis of x (N, C)."""
    C = x.data.shape[-1]
    normed = x.data - x.data.mean(axis=-1, keepdims=True)
    variance = np.einsum("nc,nc->n", normed, normed)[:, None] / C
    inverse_std = 1 / np.sqrt(variance + epsilon)
    normed *= inverse_std

    def rule(g: Array) -> tuple[Array, ...]:
        # The part of the gradient along the mean and along `normed` itself cannot move x.
        gain_grad = np.einsum("nc,nc->c", g, normed)
        out = g * gain.data
        along = np.einsum("nc,nc->n", out, normed)[:, None] / C
        out -= out.mean(axis=-1, keepdims=True)
        out -= normed * along
        out *= inverse_std
        return out, gain_grad, g.sum(axis=0)

    out = normed * gain.data
    out += bias.data
    return Tensor(out, (x, gain, bias), rule)


def gelu(x: Tensor) -> Tensor:
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): GPT-2's `gelu_new` (Hendrycks & Gimpel 2016)."""
    squared = x.data * x.data
    tanh = squared * GELU_CUBIC
    tanh += 1
    tanh *= x.data
    tanh *= GELU_SCALE
    np.tanh(tanh, out=tanh)
    out = tanh + 1
    out *= x.data
    out *= 0.5

    def rule(g: Array) -> tuple[Array]:
        # d = 0.5 (1 + t) + 0.5 x (1 - t^2) * scale * (1 + 3 * cubic * x^2), with t the tanh above
        inner = squared * (3 * GELU_CUBIC)
        inner += 1
        inner *= x.data
        inner *= GELU_SCALE
        slope = tanh * tanh
        np.subtract(1, slope, out=slope)
        slope *= inner
        slope += tanh
        slope += 1
        slope *= g
        slope *= 0.5
        return (slope,)

    return Tensor(out, (x,), rule)


def causal_attention(qkv: Tensor, n_head: int, keep: Array | None = None) -> Tensor:
    """Masked multi-head self-attention: qkv (B, T, 3C) -> (B, T, C).

    `keep` (B, H, T, T) is an optional dropout mask, already divided by the probability of keeping.
    """
    B, T, _ = qkv.data.shape
    q, k, v = qkv.data.reshape(B, T, 3, n_head, -1).transpose(2, 0, 3, 1, 4)  # each (B, H, T, D)
    scale = 1 / float(np.sqrt(q.shape[-1]))
    weights = q @ k.swapaxes(-1, -2)  # (B, H, T, T)
    weights *= scale
    weights += np.triu(np.full((T, T), -np.inf, dtype=weights.dtype), k=1)
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = weights if keep is None else weights * keep
    out = np.empty((B, T, n_head, q.shape[-1]), dtype=q.dtype)
    np.matmul(mixed, v, out=out.transpose(0, 2, 1, 3))

    def rule(g: Array) -> tuple[Array]:
        grad = np.empty((B, T, 3, n_head, q.shape[-1]), dtype=g.dtype)
        q_grad, k_grad, v_grad = grad.transpose(2, 0, 3, 1, 4)
        g = g.reshape(B, T, n_head, -1).transpose(0, 2, 1, 3)
        np.matmul(mixed.swapaxes(-1, -2), g, out=v_grad)
        scores_grad = g @ v.swapaxes(-1, -2)
        if keep is not None:
            scores_grad *= keep
        # softmax: dL/ds = w * (dL/dw - sum(w * dL/dw))
        scores_grad -= np.einsum("bhts,bhts->bht", weights, scores_grad)[..., None]
        scores_grad *= weights
        scores_grad *= scale
        np.matmul(scores_grad, k, out=q_grad)
        np.matmul(scores_grad.swapaxes(-1, -2), q, out=k_grad)
        return (grad.reshape(B, T, -1),)

    return Tensor(out.reshape(B, T, -1), (qkv,), rule)


def cross_entropy(logits: Tensor, targets: Array) -> Tensor:
    """Mean of -log softmax(logits)[target] in nats: logits (N, V), integer targets (N,)."""
    rows = np.arange(len(targets))
    shifted = logits.data - logits.data.max(axis=-1, keepdims=True)
    chosen = shifted[rows, targets]
    probabilities = np.exp(shifted)
    total = probabilities.sum(axis=-1, keepdims=True)
    loss = np.mean(np.log(total[:, 0]) - chosen)

    def rule(g: Array) -> tuple[Array]:
        grad = probabilities / total
        grad[rows, targets] -= 1
        grad *= g / len(targets)
        return (grad,)

    return Tensor(np.asarray(loss), (logits,), rule)
