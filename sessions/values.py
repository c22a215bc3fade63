"""Values: records that nobody changes once they are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

__all__ = ["value"]

if TYPE_CHECKING:
    from dataclasses import dataclass as value
else:

    def value[T](*, frozen: bool, slots: bool) -> Callable[[type[T]], type[T]]:
        """A dataclass that the type checker holds to be frozen, and that is made as fast as any other.

        Python makes a frozen one five times as slowly, and there are several to every line of a log. Nothing changes one all the same:
        the checker sees to it everywhere in this project.
        """
        assert frozen
        return dataclass(slots=slots, unsafe_hash=True)
