"""Small models, and plain code to hold the engine against."""

import math
from contextlib import contextmanager

import numpy as np
import pytest

from model import GPT, GPTConfig, KVCache

EVEN = GPTConfig(n_layer=3, n_head=2, n_embd=8, block_size=16, vocab_size=13)
ODD = GPTConfig(n_layer=2, n_head=3, n_embd=15, block_size=16, vocab_size=11, n_inner=22)


class PlainGPT2:
    """GPT-2 one token at a time in float64, its past in Python lists: what the engine must compute."""

    def __init__(self, gpt):
        self.config = gpt.config
        self.p = {name: p.astype(np.float64) for name, p in gpt.parameters.items()}

    def new_memory(self):
        """Per layer, the keys (C,) and the values (C,) of the tokens seen."""
        return [([], []) for _ in range(self.config.n_layer)]

    def logits(self, tokens):
        memory = self.new_memory()
        return np.array([self.step(token, i, memory) for i, token in enumerate(tokens)])

    def step(self, token, position, memory):
        x = self.p["wte.weight"][token] + self.p["wpe.weight"][position]
        for i, (keys, values) in enumerate(memory):
            q, k, v = np.split(self.linear(self.norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn"), 3)
            keys.append(k)
            values.append(v)
            x = x + self.linear(self.attend(q, keys, values), f"h.{i}.attn.c_proj")
            hidden = self.linear(self.norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc")
            x = x + self.linear(np.array([plain_gelu(u) for u in hidden.tolist()]), f"h.{i}.mlp.c_proj")
        final = self.norm(x, "ln_f")
        return self.p["wte.weight"] @ final

    def linear(self, x, name):
        return x @ self.p[name + ".weight"] + self.p[name + ".bias"]

    def norm(self, x, name):
        mean = math.fsum(x.tolist()) / len(x)
        variance = math.fsum((u - mean) ** 2 for u in x.tolist()) / len(x)
        deviation = math.sqrt(variance + self.config.layer_norm_epsilon)
        return (x - mean) / deviation * self.p[name + ".weight"] + self.p[name + ".bias"]

    def attend(self, q, keys, values):
        D = self.config.n_embd // self.config.n_head
        mixed = []
        for head in range(self.config.n_head):
            part = slice(head * D, (head + 1) * D)
            weights = [math.exp(q[part] @ k[part] / math.sqrt(D)) for k in keys]
            mixed.append(sum(w * v[part] for w, v in zip(weights, values, strict=True)) / sum(weights))
        return np.concatenate(mixed)


def plain_gelu(u):
    return 0.5 * u * (1 + math.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def make_gpt(config, dtype="float64", seed=0):
    """A model in which no bias is 0, no gain is 1, and logits and scores are not small."""
    rng = np.random.default_rng(seed + 1)
    parameters = GPT.random(config, seed, dtype).parameters
    return GPT(
        config,
        {name: p + (0.2 * rng.standard_normal(p.shape)).astype(dtype) for name, p in parameters.items()},
    )


def make_text(config, n, seed=0):
    return np.random.default_rng(seed).integers(config.vocab_size, size=n).tolist()


def fill_cache(gpt, tokens=(), max_seq_len=None):
    """A cache that holds these tokens, and NaN in the room that is left."""
    cache = KVCache(gpt.config, max_seq_len, gpt.dtype)
    cache.keys[:] = cache.values[:] = np.nan
    if len(tokens):
        gpt.forward(tokens, cache)
    return cache


@contextmanager
def keeping(cache):
    """Fail where a cache leaves the block other than it entered, in any bit."""

    def state():
        return cache.keys.tobytes(), cache.values.tobytes(), cache.offset

    before = state()
    yield
    assert state() == before


def check_close(actual, expected, tolerance):
    """Equal in shape, and everywhere to a share of the largest expected number; NaN never is."""
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


@pytest.fixture(scope="session")
def odd_config():
    return ODD


@pytest.fixture(scope="session")
def odd_gpt():
    return make_gpt(ODD)


@pytest.fixture(scope="session", params=[EVEN, ODD], ids=["even", "odd"])
def gpt(request):
    return make_gpt(request.param)


@pytest.fixture(scope="session", params=[EVEN, ODD], ids=["even", "odd"])
def gpt32(request):
    return make_gpt(request.param, "float32")


@pytest.fixture(
    params=[
        lambda V: [-1],
        lambda V: [V],
        lambda V: [0, V - 1, V, 0],
        lambda V: [0, 1, 2, -1],
        lambda V: [2**70],
        lambda V: [1.0],
        lambda V: [True],
        lambda V: ["a"],
        lambda V: [],
        lambda V: 3,
        lambda V: [[1, 2]],
    ],
    ids=[
        "negative",
        "V",
        "V inside",
        "negative last",
        "huge",
        "float",
        "bool",
        "str",
        "empty",
        "0-d",
        "2-d",
    ],
)
def bad_tokens(request, odd_config):
    """What is not a sequence of ids, for the model with odd widths."""
    return request.param(odd_config.vocab_size)


# Tests cannot import from a conftest, so they get the helpers above as fixtures.


@pytest.fixture(scope="session")
def plain():
    return PlainGPT2


@pytest.fixture(scope="session")
def perturbed():
    return make_gpt


@pytest.fixture(scope="session")
def text_of():
    return make_text


@pytest.fixture(scope="session")
def cache_with():
    return fill_cache


@pytest.fixture(scope="session")
def unchanged():
    return keeping


@pytest.fixture(scope="session")
def assert_close():
    return check_close
