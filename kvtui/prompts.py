"""Prompts: the one that is taken where none is given, and prompts as token ids. A bad one is told."""

from kvtui.errors import CommandError
from model.tokenizer import CharTokenizer, UnknownCharacter

DEFAULT_PROMPT = "ROMEO:\n"


def default_prompt(tokenizer: CharTokenizer) -> str:
    """The default, or for a model that does not know its characters, the first that it does know."""
    return tokenizer.characters[0] if tokenizer.unknown(DEFAULT_PROMPT) else DEFAULT_PROMPT


def given_prompt(tokenizer: CharTokenizer, prompt: str | None) -> str:
    """A prompt that the model knows all characters of; None is the default one."""
    return tokenizer.decode(encode_prompt(tokenizer, prompt))


def encode_prompt(tokenizer: CharTokenizer, prompt: str | None) -> list[int]:
    """The ids of a prompt; None is the default one."""
    if prompt == "":
        raise CommandError("the prompt is empty; give it at least one character")
    try:
        return tokenizer.encode(default_prompt(tokenizer) if prompt is None else prompt)
    except UnknownCharacter as error:
        raise CommandError(str(error)) from None
