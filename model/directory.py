"""A model directory: what it consists of, and how it is written."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from model.config import GPTConfig
from model.config_json import config_json
from model.files import write_bytes_whole
from model.tokenizer import CharTokenizer
from model.weights import WEIGHTS, write_parameters

CONFIG, VOCABULARY, CARD = "config.json", "vocab.json", "README.md"
FILES = (CONFIG, VOCABULARY, CARD, WEIGHTS)


def write_model(
    directory: Path,
    config: GPTConfig,
    parameters: Mapping[str, np.ndarray],
    tokenizer: CharTokenizer,
    card: str,
) -> None:
    """Write a model into a directory that is there; each file whole or not at all.

    The weights come last: a directory without them is no model, so a half never passes for one.
    """
    texts = {CONFIG: config_json(config), VOCABULARY: tokenizer.to_json(), CARD: card}
    for name, text in texts.items():
        _write_text(directory / name, text)
    write_parameters(directory / WEIGHTS, dict(parameters))


def _write_text(path: Path, text: str) -> None:
    # A file name in the card may hold what is not Unicode.
    data = text.encode("utf-8", errors="backslashreplace")
    write_bytes_whole(path, data)
