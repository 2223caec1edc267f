"""Stop: what most programs do."""

from collections.abc import Sequence

import numpy as np

from model.limit.policy import LimitPolicy, LimitReached


class Stop(LimitPolicy):
    """End the text where the positions end: never wrong, and never longer."""

    name = "stop"
    goes_on = False

    def step_past_limit(self, text: Sequence[int]) -> np.ndarray:
        raise LimitReached(f"the text ends here: the model has {self.cache.max_seq_len} positions")
