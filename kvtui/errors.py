"""What the user can put right, told in one line."""


class CommandError(Exception):
    """A bad call, a bad file, a full disk. The message says what was wrong and what would be right."""


def explain(error: OSError) -> str:
    """The file and what went wrong with it, without the error's number."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def one_line(message: str) -> str:
    """The message with whatever could break the line, or the terminal, spelled out."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in message)
