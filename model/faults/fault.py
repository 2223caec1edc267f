"""What a fault is: something wrong that can be put into the running engine, and taken out again."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Any

# Where a fault is put in, such as "decoder.Decoder.step", and what makes it: given what is sound there, it
# returns what takes its place.
Patch = tuple[str, Callable[[Any], Any]]


@dataclass(frozen=True)
class Fault:
    """A mistake that caches have had in public. The engine knows nothing of it.

    Patches keep nothing of their own, neither in the model nor from one call to the next: a fault can be
    put in for a single call. None touches `forward_uncached`, which stays what all else is held against.
    """

    name: str
    what: str  # goes wrong, and why
    seen_in: str  # a public report, and what it was there
    patches: tuple[Patch, ...]

    @contextmanager
    def active(self) -> Iterator[None]:
        """The engine has this fault inside the block: every model, cache and thread of the process."""
        with ExitStack() as stack:
            for place, fault in self.patches:
                owner, name = _located(place)
                sound = vars(owner)[name]
                stack.callback(setattr, owner, name, sound)
                setattr(owner, name, fault(sound))
            yield


def _located(place: str) -> tuple[Any, str]:
    """The class or module that a place is in, and its name there."""
    owner, _, name = place.rpartition(".")
    return resolve_name(f"model.{owner}"), name
