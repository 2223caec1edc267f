"""Prompts: the one that is taken where none is given, and prompts as token ids."""

from kvtui.errors import CommandError
from model.tokenizer import CharTokenizer, UnknownCharacter

DEFAULT_PROMPT = "ROMEO:\n"


def encode_prompt(tokenizer: CharTokenizer, prompt: str | None) -> list[int]:
    """The ids of a prompt; None is the default one."""
    if prompt == "":
        raise CommandError("the prompt is empty; give it at least one character")
    try:
        return tokenizer.encode(DEFAULT_PROMPT if prompt is None else prompt)
    except UnknownCharacter as error:
        advice = "; give a prompt of these with --prompt" if prompt is None else ""
        raise CommandError(f"{error}{advice}") from None
