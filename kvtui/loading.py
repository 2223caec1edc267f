"""The model that a command was asked to use, or one line on why there is none."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from kvtui.errors import CommandError, explain
from model.directory import VOCABULARY
from model.gpt import BUNDLED, GPT
from model.sampling import LogitsNotFinite
from model.tokenizer import CharTokenizer


@contextmanager
def model_at_work() -> Iterator[None]:
    """Turn numbers that overflowed into one line on what is wrong with the model."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # not NumPy's lines as well
            yield
    except LogitsNotFinite as error:
        raise CommandError(str(error)) from None


def load_model(directory: Path | None, dtype: str) -> GPT:
    """The model in a directory; None is the bundled one."""
    try:
        return GPT.load(directory, dtype)
    except OSError as error:
        raise CommandError(
            f"{explain(error)}; a model is a directory with config.json and model.safetensors"
        ) from None
    except ValueError as error:
        raise _refused(error) from None


def load_tokenizer(directory: Path | None, gpt: GPT) -> CharTokenizer:
    """The characters of a model. Other GPT-2s have none: they read pieces of words."""
    path = (directory or BUNDLED) / VOCABULARY
    try:
        tokenizer = CharTokenizer.load(path)
    except OSError as error:
        raise CommandError(
            f"{explain(error)}; without its characters a model cannot read a text, only be verified"
        ) from None
    except ValueError as error:
        raise _refused(error) from None
    if len(tokenizer.characters) != gpt.config.vocab_size:
        raise CommandError(
            f"{path} lists {len(tokenizer.characters)} characters, "
            f"and the model has {gpt.config.vocab_size}; the two must belong together"
        )
    return tokenizer


def _refused(error: ValueError) -> CommandError:
    """What is wrong with a file, whose content may be quoted, and long."""
    message = str(error)
    return CommandError(message if len(message) <= 500 else f"{message[:500]}...")
