"""A text file to train on: read, split, and turned into token ids."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from model.files import read_bytes
from model.tokenizer import CharTokenizer


@dataclass(frozen=True)
class Corpus:
    """The first nine tenths of a text's characters to train on, the last tenth to validate with."""

    name: str  # of the file
    nbytes: int
    sha256: str
    tokenizer: CharTokenizer
    train_tokens: np.ndarray
    val_tokens: np.ndarray

    @property
    def characters(self) -> int:
        return len(self.train_tokens) + len(self.val_tokens)

    @classmethod
    def read(cls, path: Path, block_size: int) -> "Corpus":
        """Read a text file in UTF-8. Line ends stay as they are; a byte order mark is no character.

        Raises OSError where it cannot be read, and ValueError for one that is not UTF-8, or whose last
        tenth has no room for a window of block_size + 1 characters.
        """
        data = read_bytes(path)
        text = decoded(data, path)
        if len(text) < (needed := 10 * block_size + 1):
            raise ValueError(
                f"{path} has {len(text):,} characters; to train and validate on windows of "
                f"{block_size}, a text needs at least {needed:,}"
            )
        tokenizer = CharTokenizer.of_text(text)
        tokens = np.array(tokenizer.encode(text))
        n = len(tokens) * 9 // 10
        digest = hashlib.sha256(data).hexdigest()
        return cls(path.name, len(data), digest, tokenizer, tokens[:n], tokens[n:])


def decoded(data: bytes, path: Path) -> str:
    """The text of a file in UTF-8: its line ends as they are, without a byte order mark.

    Raises ValueError, which names the file, for what is not UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not text in UTF-8 (byte {error.start}: {error.reason}); convert it to UTF-8"
        ) from None
