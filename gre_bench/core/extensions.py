"""Entries that installed packages add to the program's catalogues: metrics, evaluation LMs, perturbations, prompts.

A package declares its additions as entry points, in one group per catalogue. Every process that the program starts
therefore finds them, and no file of the program needs a change. A package's modules are imported only when somebody
looks up a name that the program itself does not define.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from gre_bench.core.errors import SettingsError

T = TypeVar("T")


class Catalogue(Mapping[str, T]):
    """A mapping of name → entry: first the program's own entries, then those of installed packages.

    - *group*: the group of entry points, such as ``gre_bench.metrics``. An entry point has the name of its entry.
    - *own*: name → entry of the program itself.
    - *is_entry*: (name, object) → whether the object is a valid entry with that name.
    - *forms*: entry → further (name, entry) pairs derived from that entry.

    Looking up a name outside *own*, or listing all names, loads the entries of all packages. Both raise
    `SettingsError` if one of these entries cannot be used.
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
                raise _build_addition_error(point, "another entry has this name already")
            try:
                entry = point.load()
            except Exception as error:
                raise _build_addition_error(point, f"{type(error).__name__}: {error}".splitlines()[0]) from error
            if not self._is_entry(point.name, entry):
                raise _build_addition_error(
                    point, f"{point.value} is not a {self.group.rpartition('.')[2]} entry of that name"
                )
            entries |= {point.name: entry, **dict(self._forms(entry))}
        return entries


def _build_addition_error(point: EntryPoint, why: str) -> SettingsError:
    package = point.dist.name if point.dist else "an installed package"
    return SettingsError(
        f"package {package}: entry point {point.name} of {point.group} cannot be used: {why}; mend the package, or "
        f"uninstall it: pip uninstall {package}"
    )


def has_extension_packages() -> bool:
    """Whether an installed package adds to any catalogue."""
    return any(group.startswith("gre_bench.") for group in entry_points().groups)
