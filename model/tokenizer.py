"""Characters to token ids and back."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from model.files import read_json

BLANKS = {" ": "space", "\n": "newline", "\t": "tab"}


class UnknownCharacter(ValueError):
    """A text holds characters that the model was not trained on."""


class CharTokenizer:
    """One token per character; the id of a character is its place in `characters`."""

    def __init__(self, characters: Sequence[str]) -> None:
        self.characters = tuple(characters)
        self.ids = {character: i for i, character in enumerate(self.characters)}
        if len(self.ids) != len(self.characters) or not all(map(_is_character, self.characters)):
            raise ValueError("a vocabulary must consist of single characters, each there once")

    @classmethod
    def of_text(cls, text: str) -> "CharTokenizer":
        """The vocabulary of a text: its distinct characters, sorted."""
        return cls(sorted(set(text)))

    @classmethod
    def load(cls, path: Path) -> "CharTokenizer":
        """Read a vocab.json: an object that maps each character to its id, 0 to V - 1.

        Raises ValueError for anything else, OSError where there is no such file.
        """
        vocabulary = read_json(path)
        by_id = {}
        if isinstance(vocabulary, dict):
            by_id = {i: c for c, i in vocabulary.items() if type(i) is int and _is_character(c)}
        if not by_id or len(by_id) != len(vocabulary) or set(by_id) != set(range(len(by_id))):
            raise ValueError(
                f"{path} must map single characters to the ids 0 to V - 1, each id once; "
                "vocabularies of longer pieces (BPE) are not supported"
            )
        return cls([by_id[i] for i in range(len(by_id))])

    def to_json(self) -> str:
        return json.dumps(self.ids, ensure_ascii=False, indent=0) + "\n"

    def unknown(self, text: str) -> list[str]:
        """The characters of a text that have no id, each once, in order of appearance."""
        return [c for c in dict.fromkeys(text) if c not in self.ids]

    def encode(self, text: str) -> list[int]:
        """Ids of a text. Raises UnknownCharacter where one has none."""
        if unknown := self.unknown(text):
            shown = " ".join(map(repr, unknown[:10]))
            raise UnknownCharacter(f"the model does not know {shown}; it knows {self.listing()}")
        return [self.ids[c] for c in text]

    def decode(self, tokens: Iterable[int]) -> str:
        return "".join(self.characters[token] for token in tokens)

    def listing(self) -> str:
        """The known characters for people; blanks and control characters by name or code."""
        return " ".join(
            BLANKS.get(c) or (c if c.isprintable() else f"U+{ord(c):04X}") for c in self.characters
        )


def _is_character(text: str) -> bool:
    """Half a surrogate pair, which JSON can hold, is none: no file and no terminal takes it."""
    return len(text) == 1 and not "\ud800" <= text <= "\udfff"
