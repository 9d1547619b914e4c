"""What installed packages add to the program's catalogues: metrics, evaluation LMs, changes of reviews, prompts.

A package names its additions as entry points, in one group for each catalogue. So every process that the program
starts finds them, and no file of the program is edited. The modules of a package are imported once a name is looked up
that the program itself does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from gre_bench.core.errors import SettingsError

T = TypeVar("T")


class Catalogue(Mapping[str, T]):
    """The entries *own* of the program by name, and after them those of installed packages.

    - *group*: the group of entry points, such as ``gre_bench.metrics``. An entry point has the name of its entry.
    - *is_entry*: whether an object that an entry point names is an entry with the entry point's name.
    - *forms*: an entry → further entries that follow from it, by name.

    Looking up a name that is not in *own*, and listing all names, raise `SettingsError` if an addition cannot be used.
    """

    def __init__(
        self,
        group: str,
        own: Mapping[str, T],
        is_entry: Callable[[str, object], bool],
        forms: Callable[[T], Iterable[tuple[str, T]]] = lambda _: (),
    ):
        self.group = group
        self.own = {name: entry for given in own.items() for name, entry in (given, *forms(given[1]))}
        self._is_entry = is_entry
        self._forms = forms

    def __getitem__(self, name: str) -> T:
        return self.own[name] if name in self.own else self.added[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.own
        yield from self.added

    def __len__(self) -> int:
        return len(self.own) + len(self.added)

    @cached_property
    def added(self) -> dict[str, T]:
        """The entries that installed packages add, in the order of their names."""
        entries: dict[str, T] = {}
        for point in sorted(entry_points(group=self.group), key=lambda point: point.name):
            if point.name in self.own or point.name in entries:
                raise _unusable(point, "another entry has this name already")
            try:
                entry = point.load()
            except Exception as error:
                raise _unusable(point, f"{type(error).__name__}: {error}".splitlines()[0]) from error
            if not self._is_entry(point.name, entry):
                raise _unusable(point, f"{point.value} is no {self.group.rpartition('.')[2]} entry of that name")
            entries |= {point.name: entry, **dict(self._forms(entry))}
        return entries


def _unusable(point: EntryPoint, why: str) -> SettingsError:
    package = point.dist.name if point.dist else "an installed package"
    return SettingsError(
        f"package {package}: entry point {point.name} of {point.group} cannot be used: {why}; mend the package, or "
        f"uninstall it: pip uninstall {package}"
    )


def extended() -> bool:
    """Whether an installed package adds to any catalogue."""
    return any(group.startswith("gre_bench.") for group in entry_points().groups)
