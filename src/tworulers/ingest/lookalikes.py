"""Why two lists of names have little in common: what surrounds the names on one side, or is written otherwise."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product

from tworulers.ingest.id_rules import EXAM, simplify

TRIED = 60
"""Names of either side that causes are looked for in."""

_WAYS: tuple[tuple[str, ...], ...] = (
    ("case",),
    ("extension",),
    ("zeros",),
    ("folder",),
    ("extension", "case"),
    ("folder", "extension"),
)
_SAID = {
    "case": "differ in letter case",
    "extension": "have a file ending on one side",
    "zeros": "differ in leading zeros",
    "folder": "have a folder on one side",
}


@dataclass(frozen=True)
class Cause:
    """What makes names of two sides one.

    Attributes
    ----------
    first, second : patterns of the names of either side, `{exam}` where they are the exam's alone.
    ignore : what does not count, words of `id_rules.IGNORABLE`.
    share : how many names are then in common.
    """

    first: str = EXAM
    second: str = EXAM
    ignore: tuple[str, ...] = field(default=())
    share: int = 0

    def describe(self, first: str, second: str) -> str:
        """Say it of sides that are called so."""
        told = [
            f"the names of {side} are {_surround(pattern)}"
            for side, pattern in ((first, self.first), (second, self.second))
            if pattern != EXAM
        ]
        told += [f"names {_SAID[word]}" for word in self.ignore]
        return " and ".join(told)


def find_cause(first: Sequence[str], second: Sequence[str]) -> Cause | None:
    """Find what makes most names of the shorter list names of the other, if that is one of the usual things.

    Returns
    -------
    The simplest cause under which at least half of the shorter list is in the other, and more than without it.
    """
    exact = len(set(first) & set(second))
    needed = max(exact + 1, (min(len(set(first)), len(set(second))) + 1) // 2)
    if not first or not second:
        return None
    for ignore in _WAYS:
        n = len(set(_simplify_all(first, ignore)) & set(_simplify_all(second, ignore)))
        if n >= needed:
            return Cause(ignore=ignore, share=n)
    ways: tuple[tuple[str, ...], ...] = ((), ("case",))
    for ignore in ways:
        sides = [_simplify_all(names, ignore) for names in (first, second)]
        pairs = sorted(_guess_patterns(*sides), key=lambda pair: (len("".join(pair)), pair))
        found = [
            Cause(*pair, ignore, n)
            for pair in pairs
            if (n := _count_common(sides[0], sides[1], *pair)) >= needed
        ]
        if found:
            return max(found, key=lambda cause: cause.share)
    return None


def _simplify_all(names: Iterable[str], ignore: Sequence[str]) -> list[str]:
    return [simplify(name, ignore) for name in names]


def _count_common(first: Sequence[str], second: Sequence[str], one: str, other: str) -> int:
    taken = [
        {simplify(name, (), pattern) for name in names if _fits(name, pattern)}
        for names, pattern in ((first, one), (second, other))
    ]
    return len(taken[0] & taken[1])


def _fits(name: str, pattern: str) -> bool:
    before, _, after = pattern.partition(EXAM)
    long = len(name) > len(before) + len(after)
    return long and name.startswith(before) and name.endswith(after)


def _guess_patterns(first: Sequence[str], second: Sequence[str]) -> set[tuple[str, str]]:
    """Guess what surrounds names: the rest where one holds the other, and what all names of a side share."""
    known = (set(first), set(second))
    guesses: set[tuple[str, str]] = set()
    for name in first[:TRIED]:
        guesses |= {(_surrounding(name, part), EXAM) for part in _inner(name, known[1])}
    for name in second[:TRIED]:
        guesses |= {(EXAM, _surrounding(name, part)) for part in _inner(name, known[0])}
    shared = [_share(names) for names in (first, second)]
    guesses |= set(product(shared[0], shared[1]))
    return guesses - {(EXAM, EXAM)}


def _inner(name: str, known: Collection[str]) -> list[str]:
    """Return the longest known name that a name holds, if any."""
    held = [part for part in known if part and part in name and part != name]
    return [max(held, key=len)] if held else []


def _surrounding(name: str, part: str) -> str:
    before, _, after = name.partition(part)
    return f"{before}{EXAM}{after}"


def _share(names: Sequence[str]) -> list[str]:
    """Return the patterns of what all names begin and end with, cut at a sign between words, and none."""
    if len(names) < 2:
        return [EXAM]
    low, high = min(names), max(names)
    begin = next(
        (n for n, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), 0
    )
    turned = [name[::-1] for name in names]
    low, high = min(turned), max(turned)
    end = next((n for n, pair in enumerate(zip(low, high, strict=False)) if pair[0] != pair[1]), 0)
    before = _cut_at_sign(names[0][:begin])
    after = _cut_at_sign(names[0][len(names[0]) - end :][::-1])[::-1]
    return list(
        dict.fromkeys([EXAM, f"{before}{EXAM}{after}", f"{EXAM}{after}", f"{before}{EXAM}"])
    )


def _cut_at_sign(text: str) -> str:
    last = max((place for place, sign in enumerate(text, 1) if not sign.isalnum()), default=0)
    return text[:last]


def _surround(pattern: str) -> str:
    before, _, after = pattern.partition(EXAM)
    told = [f"{before!r} before"] * bool(before) + [f"{after!r} behind"] * bool(after)
    return f"exams' with {' and '.join(told)}"
