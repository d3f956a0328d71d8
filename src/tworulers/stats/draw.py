"""Sources of chance: a stream for each statistic, and how exams, patients and rulers are drawn."""

from zlib import crc32

import numpy as np

from tworulers.stats.groups import GroupedSample
from tworulers.stats.types import BoolArray, IntArray

BLOCK = 2_000_000
"""Drawn values held in memory at a time."""


def named_stream(seed: int, *names: str) -> np.random.Generator:
    """Give a generator of its own to each named statistic, so that one more does not move another.

    Parameters
    ----------
    seed : of the run.
    names : what is drawn, such as `("bootstrap", "age_3bin", "macro", "dice")`.
    """
    keys = [crc32(name.encode()) for name in names]
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=keys)))


def split_draws(draws: int, width: int, most: int | None = None) -> list[int]:
    """Split draws of so many exams each into blocks of at most so many values (`BLOCK`): the draws of each block."""
    step = max(1, (BLOCK if most is None else most) // max(width, 1))
    return [min(step, draws - start) for start in range(0, max(draws, 1), step)]


def count_draws(place: IntArray, width: int, draws: int, rng: np.random.Generator) -> IntArray:
    """Draw n units with replacement and count how often each place comes up, (draws, width).

    Parameters
    ----------
    place : place of each unit, (n,), 0 to `width` - 1; units may share one.
    width : number of places.
    draws : how often n units are drawn.
    rng : source of chance.
    """
    if not len(place):
        return np.zeros((draws, width), dtype=np.int64)
    chosen = place[rng.integers(0, len(place), size=(draws, len(place)))]
    flat = (chosen + width * np.arange(draws)[:, None]).ravel()
    return np.bincount(flat, minlength=draws * width).reshape(draws, width)


def draw_within_groups(
    sample: GroupedSample, *, draws: int, rng: np.random.Generator
) -> list[IntArray]:
    """Draw units (exams or whole patients) with replacement within each group.

    Returns
    -------
    One (draws, width) array of exam indices a group; -1 pads draws of patients with fewer exams
    than the widest.
    """
    drawn = []
    for code in range(len(sample.names)):
        members = np.flatnonzero(sample.codes == code)
        units = _stack_units(members, sample.units[members])
        picked = units[rng.integers(0, len(units), size=(draws, len(units)))]
        drawn.append(picked.reshape(draws, -1))
    return drawn


def draw_exchanges(units: IntArray, *, draws: int, rng: np.random.Generator) -> BoolArray:
    """Draw (draws, n) fair coins, one a unit (exam or patient), shared by all exams of the unit."""
    unit = np.unique(units, return_inverse=True)[1]
    count = int(unit.max()) + 1
    width = -(-count // 8)
    coins = np.unpackbits(np.frombuffer(rng.bytes(draws * width), dtype=np.uint8)).view(np.bool_)
    return coins.reshape(draws, 8 * width)[:, unit]


def _stack_units(members: IntArray, labels: IntArray) -> IntArray:
    _, unit = np.unique(labels, return_inverse=True)
    order = np.argsort(unit, kind="stable")
    sizes = np.bincount(unit)
    table = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int64)
    column = np.arange(len(members)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table[unit[order], column] = members[order]
    return table
