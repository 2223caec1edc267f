"""A growing table of numbers: a long run takes little memory, and sums over it little time."""

import numpy as np

ROOM = 2**16  # rows; memory that is not written yet is not taken from the machine either


class Records:
    """Rows of one NumPy record type. What `rows` gave stays as it was, whatever comes after."""

    def __init__(self, dtype: np.dtype) -> None:
        self._room = np.empty(ROOM, dtype)
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
            self._move_to(2 * self._n)
        self._room[self._n] = fields
        self._n += 1

    def replace_last(self, *fields: object) -> None:
        self.keep(self._n - 1)
        self.append(*fields)

    def keep(self, n: int) -> None:
        """Forget all rows but the first n."""
        if n < self._n:
            self._n = n
            self._move_to(len(self._room))  # `rows` of before keeps the others

    def _move_to(self, size: int) -> None:
        room = np.empty(size, self._room.dtype)
        room[: self._n] = self._room[: self._n]
        self._room = room
