"""What the inspector calls rounding is rounding: in keys, in values and in logits."""

import numpy as np
import pytest

from kvtui.inspecting import Cursor, inspect
from model import GPTConfig
from model.limit import Recompute

CONFIG = GPTConfig(n_layer=2, n_head=2, n_embd=8, block_size=12, vocab_size=11)
TEXT = [1, 5, 3, 3, 8]


@pytest.mark.parametrize(("dtype", "little", "much"), [("float64", 1e-15, 1e-9), ("float32", 1e-6, 1e-3)])
@pytest.mark.parametrize("which", ["keys", "values", "logits"])
def test_a_little_is_rounding_and_more_is_not(perturbed, which, dtype, little, much):
    for off, exact in ((little, True), (much, False)):
        policy = Recompute(perturbed(CONFIG, dtype))
        logits = policy.start(TEXT)
        if which == "logits":
            logits = logits + off * np.abs(logits).max()
        else:
            layer = getattr(policy.cache, which)[1, :, : len(TEXT)]
            layer[0, 2, 1] += off * np.abs(layer).max()
        inspection = inspect(policy, TEXT, logits, Cursor(), "abcdefghijk")
        assert inspection.exact == (True, exact or which == "logits")
        assert inspection.logits_exact == (exact or which != "logits")
