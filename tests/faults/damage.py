"""Damage to files, at places that a seed draws: one bit flipped, or the end cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

Damage = tuple[str, Callable[[bytes], bytes]]
"""What was done and where, and the doing of it."""


def flips(size: int, count: int, random: Random, first: int = 0) -> Iterator[Damage]:
    """One bit at *count* places of a file of *size* bytes, not before *first*."""
    for _ in range(count):
        place, bit = random.randrange(first, size), random.randrange(8)
        yield f"bit {bit} of byte {place} flipped", lambda data, at=place, one=bit: _flipped(data, at, one)


def cuts(size: int, count: int, random: Random) -> Iterator[Damage]:
    """*count* lengths that a file of *size* bytes is cut to, no byte at all first."""
    for length in (0, *(random.randrange(1, size) for _ in range(count - 1))):
        yield f"cut to {length} bytes", lambda data, end=length: data[:end]


def damages(size: int, count: int, random: Random) -> Iterator[Damage]:
    """*count* flips and half as many cuts."""
    yield from flips(size, count, random)
    yield from cuts(size, max(1, count // 2), random)


def done_to(file: Path, damage: Damage) -> str:
    """Does it; what was done."""
    said, do = damage
    file.chmod(0o644)
    file.write_bytes(do(file.read_bytes()))
    return said


def _flipped(data: bytes, place: int, bit: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]
