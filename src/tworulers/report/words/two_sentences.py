"""The answer in two sentences: what the best labels there are say of the patients, and what the ruler did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tworulers.battery.within import CANNOT_SAY, DIFFERS, DIFFERS_WITHIN, WITHIN
from tworulers.diagnosis.known import FALSE, Basis
from tworulers.report.tables import write_count
from tworulers.report.words.rulers import say_basis
from tworulers.report.words.verdicts import TITLES
from tworulers.schema.settings import Provenance

WHOSE: Mapping[str, str] = {
    Provenance.TRUTH: "by the noise-free truth",
    Provenance.GOLD: "by the experts' labels",
    Provenance.MIXED: "by labels of experts and of a machine",
    Provenance.SILVER: "of the patients nothing can be said without an expert's labels; by a machine's",
    Provenance.BIASED: "of the patients nothing can be said by labels distorted on purpose; by these",
}
"""Whose labels speak, the best first."""


MOST_NAMED, MOST_FIRST = 8, 5
"""Groupings that a sentence names, and how many of more."""


@dataclass(frozen=True)
class Grouped:
    """What labels answer of one grouping.

    Attributes
    ----------
    title : of the grouping.
    answers : how many tests gave which answer.
    clearest : of a difference: whom it is worst for, in which score, and how far apart; empty where there is none.
    needed : exams at which the score that stands for all would have an answer; None where it has one, or none would.
    """

    title: str
    answers: Mapping[str, int]
    clearest: str = ""
    needed: int | None = None

    @property
    def answer(self) -> str:
        """Return what stands for the grouping: any difference, else *within* only where every score is."""
        found = next((name for name in (DIFFERS, DIFFERS_WITHIN) if self.answers.get(name)), "")
        return found or (CANNOT_SAY if self.answers.get(CANNOT_SAY, 0) else WITHIN)


@dataclass(frozen=True)
class Told:
    """What one ruler's labels answer.

    Attributes
    ----------
    ruler, provenance, exams : whose labels, and over how many exams.
    margin_asked : whether a margin was given.
    score : the one that `needed` is of.
    groupings : the primary questions where there are any, else all.
    primary, locked : how many primary questions there are, and the day of their lock.
    secondary, secondary_found : tests beside the primary questions, and how many of them differ.
    """

    ruler: str
    provenance: str
    exams: int
    margin_asked: bool
    score: str
    groupings: Sequence[Grouped]
    primary: int = 0
    locked: str = ""
    secondary: int = 0
    secondary_found: int = 0


@dataclass(frozen=True)
class Changed:
    """What another ruler did to the tests.

    Attributes
    ----------
    base, other : names of the rulers.
    status : how close the other is to the model: `identical`, `too_close` or `distinct`.
    tests, changed : stated tests, and how many changed beyond chance.
    flips : conclusions that crossed the level, by verdict.
    known : of the other ruler, as a comparison's summary tells it.
    shown : how many flips have a mechanism that is shown.
    forgiven : share of the error that the other ruler forgives; None where unknown.
    """

    base: str
    other: str
    status: str
    tests: int
    changed: int
    flips: Mapping[str, int]
    known: Mapping[str, object]
    shown: int = 0
    forgiven: float | None = None


def say_patients(best: Told, experts: Told | None = None) -> str:
    """Say of every grouping what the best labels answer; nothing where nothing is grouped.

    Parameters
    ----------
    best : what the best labels there are answer.
    experts : what those of experts do, where `best` is the truth.
    """
    if not best.groupings:
        return ""
    exams = write_count(best.exams, "exam")
    start = f"{WHOSE[best.provenance]} ({best.ruler}, {exams})"
    if best.primary:
        asked = "primary question" if best.primary == 1 else f"{best.primary} primary questions"
        start = f"on the {asked} locked on {best.locked}, {start}"
    said = [*_list_answers(best), *_set_beside(best, experts)]
    if not best.margin_asked and any(one.answer == CANNOT_SAY for one in best.groupings):
        said.append("within a margin was not asked")
    elif best.margin_asked and best.provenance == Provenance.MIXED:
        said.append("exams that a machine judged show no equality")
    if best.primary and best.secondary:
        found = (
            f"{best.secondary_found or 'none'} of {write_count(best.secondary, 'secondary test')}"
        )
        said.append(f"{found} {'differ' if best.secondary_found > 1 else 'differs'}")
    return _end(f"{start} {'; '.join(said)}")


def _list_answers(told: Told) -> list[str]:
    """Write a clause for each answer, with the groupings that gave it."""
    by_answer: dict[str, list[Grouped]] = {}
    for one in told.groupings:
        by_answer.setdefault(one.answer, []).append(one)
    said = []
    for answer, start in (
        (DIFFERS, "groups differ by"),
        (DIFFERS_WITHIN, "groups differ, but within the margin, by"),
    ):
        if found := by_answer.get(answer):
            said.append(f"{start} {_join([_write_found(one, answer) for one in found])}")
    if found := by_answer.get(WITHIN):
        said.append(f"groups are within the margin by {_join([one.title for one in found])}")
    if found := by_answer.get(CANNOT_SAY):
        titles = _join([f"{one.title}{_write_partly(one)}" for one in found])
        said.append(
            f"it cannot be said whether groups differ by {titles}{_write_needed(found, told.score)}"
        )
    return said


def _write_found(one: Grouped, answer: str) -> str:
    total = sum(one.answers.values())
    return f"{one.title} ({one.answers[answer]} of {write_count(total, 'score')}{one.clearest})"


def _write_partly(one: Grouped) -> str:
    """Say in how many scores a grouping is within the margin, where it is not in all."""
    n = one.answers.get(WITHIN, 0)
    return f" (within the margin in {n} of {sum(one.answers.values())} scores)" if n else ""


def _write_needed(found: Sequence[Grouped], score: str) -> str:
    """Write how many exams would settle one score, from the fewest to the most."""
    needed = [one.needed for one in found if one.needed is not None]
    if not needed:
        return ""
    low, high = min(needed), max(needed)
    exams = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    return f" (about {exams} exams would settle {score})"


def _set_beside(truth: Told, experts: Told | None) -> list[str]:
    """Say which of the truth's differences the experts' labels show, and which they show that the truth does not."""
    if experts is None or truth.provenance != Provenance.TRUTH:
        return []
    shown, found = (
        [one.title for one in told.groupings if one.answer in (DIFFERS, DIFFERS_WITHIN)]
        for told in (truth, experts)
    )
    name, said = f"the experts' labels ({experts.ruler})", []
    if both := [title for title in shown if title in found]:
        said.append(f"show it by {_join(both)}")
    if missed := [title for title in shown if title not in found]:
        said.append(f"cannot tell it by {_join(missed)}")
    if alone := [title for title in found if title not in shown]:
        said.append(f"show a difference by {_join(alone)} that the truth does not show")
    return [f"{name} {', '.join(said)}"] if said else []


def say_ruler(change: Changed | None) -> str:
    """Say what the other ruler did to the tests and conclusions; nothing where there is one ruler."""
    if change is None:
        return ""
    other = f"the {change.other} ruler"
    if change.status == "identical":
        return _end(
            f"{other} equals the predictions it judges: it is no ruler, and its agreement confirms nothing"
        )
    tests = f"{change.changed} of {write_count(change.tests, 'test')} changed beyond chance"
    if not change.tests:
        tests = "no test was made"
    said = [f"{tests} with {other} in place of {change.base}"]
    crossed = sum(change.flips.values())
    if crossed:
        named = ", ".join(
            f"{TITLES[name][:1].lower()}{TITLES[name][1:]} in {n}"
            for name, n in change.flips.items()
        )
        said.append(f"{write_count(crossed, 'conclusion')} crossed the level ({named})")
    elif change.tests:
        said[0] += ", and no conclusion crossed the level"
    close = change.status == "too_close" and change.known["basis"] != Basis.SHARPER
    if close:
        forgives = ""
        if change.forgiven is not None:
            forgives = f", forgiving {100 * change.forgiven:.0f} % of its error"
        said.append(f"it is too close to the model{forgives}, so no verdict may rest on it")
    if crossed and not change.shown:
        said.append("no mechanism is shown")
    if change.shown or (close and change.known["basis"] not in FALSE):
        said.append(say_basis(change.known, other))
    return _end("; ".join(said))


def _join(names: Sequence[str]) -> str:
    """Join names as in a sentence; of many the first ones, and how many more there are."""
    if len(names) > MOST_NAMED:
        names = [*names[:MOST_FIRST], f"{len(names) - MOST_FIRST} more"]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def _end(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
