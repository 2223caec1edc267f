"""A growing table of numbers: a long run takes little memory, and sums over it little time."""

import numpy as np


class Records:
    """Rows of one NumPy record type. What `rows` gave stays as it was, whatever comes after."""

    def __init__(self, dtype: np.dtype) -> None:
        self._room = np.empty(64, dtype)
        self._n = 0

    def __len__(self) -> int:
        return self._n

    @property
    def rows(self) -> np.ndarray:
        """All rows (n,), not to be written."""
        rows = self._room[: self._n]
        rows.flags.writeable = False
        return rows

    def append(self, *fields: object) -> None:
        if self._n == len(self._room):
            self._room = np.concatenate((self._room, np.empty_like(self._room[: self._n // 4])))
        self._room[self._n] = fields
        self._n += 1

    def keep(self, n: int) -> None:
        """Forget all rows but the first n."""
        if n < self._n:
            self._room = self._room.copy()  # `rows` of before keeps the others
            self._n = n
