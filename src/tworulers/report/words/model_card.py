"""One page that says of a model what an audit of its fairness found: a section of a model card, in Markdown."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tworulers.report.tables import Table, escape_markdown, write_count
from tworulers.report.words.groupings import DRAWN_BY

SENTENCES = 12
"""Sentences on the page; the others are counted."""

INTENDED = (
    "To tell whether the model does as well in every patient group named below, on exams like these. It is no test of "
    "clinical benefit or safety, says nothing of groups that were not asked about, and does not tell why groups differ."
)
UNNAMED = "Not named by whoever made this card."
CAVEATS = (
    "A difference that was not shown is no evidence that there is none; what would have been found is in the results.",
    "Differences are between groups as they were recorded, and what else differs between them is not taken out.",
)


@dataclass(frozen=True)
class CardFacts:
    """What a card says, gathered from a result.

    Attributes
    ----------
    title : what was asked of what.
    model : what the model is called; empty where that is not known.
    intended_use : of the audit; empty takes the general one.
    data : of how many, and how they were grouped, a sentence each.
    rulers : who drew the labels, by what they are called.
    groups : how many in each group, and the results.
    held : which answer every test has within its margins; empty where no margin was given.
    answers : what may be said.
    method : how it was found: level, success, resampling.
    caveats : what was left out, or is less sure than it looks.
    """

    title: str
    model: str
    intended_use: str
    data: Sequence[str]
    rulers: Mapping[str, str]
    groups: Sequence[Table]
    held: Sequence[Table]
    answers: Sequence[str]
    method: Sequence[str]
    caveats: Sequence[str]


def write_card(facts: CardFacts) -> str:
    """Write the card: model, use, data, rulers, results by group, answers, caveats."""
    rulers = [
        f"{name}: provenance {word} ({DRAWN_BY.get(word.partition(',')[0], 'not known')})"
        for name, word in facts.rulers.items()
    ]
    more = len(facts.answers) - SENTENCES
    answers = list(facts.answers[:SENTENCES])
    if more > 0:
        answers.append(f"{more} more sentences are in the result that this card is of.")
    sections: dict[str, Sequence[str]] = {
        "Model": [facts.model or UNNAMED],
        "Intended use of this audit": [facts.intended_use or INTENDED],
        "Data and groups": facts.data,
        "Rulers: what the model was judged by": rulers,
        "What may be said": answers,
        "How it was found": facts.method,
        "Caveats": [*facts.caveats, *CAVEATS],
    }
    parts = [f"# {escape_markdown(facts.title)}\n"]
    for heading, lines in sections.items():
        if heading == "What may be said":
            parts += ["## Results by group\n", *(table.to_markdown() for table in facts.groups)]
            if facts.held:
                parts += ["## Answers within margins\n", *(t.to_markdown() for t in facts.held)]
        if lines:
            parts.append(f"## {heading}\n\n{_list(lines)}\n")
    return "\n".join(parts)


def say_data(
    asked: Mapping[str, Any], sides: Sequence[Mapping[str, Any]], by_group: pd.DataFrame
) -> list[str]:
    """Say of how many the results are, and how many are in each group.

    Parameters
    ----------
    asked : what was asked of a risk score, with `rows` and `events`.
    sides : what was asked of scores, one a side, with `exams` and `patients`; none of a risk score.
    by_group : `grouping`, `group`, `n`.
    """
    if sides:
        exams, patients = sides[0]["exams"], sides[0]["patients"]
        told = [f"{write_count(exams, 'exam')} of {write_count(patients, 'patient')}."]
    else:
        told = [f"{write_count(asked['rows'], 'row')}, {asked['events']} with the event."]
    sizes = by_group.drop_duplicates(["grouping", "group"])
    for grouping, part in sizes.groupby("grouping", sort=False):
        counts = [f"{g} n = {n}" for g, n in zip(part["group"], part["n"], strict=True)]
        told.append(f"{grouping}: {', '.join(counts)}")
    return told


def say_method(asked: Mapping[str, Any], sides: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say how it was found: level, success, resampling; parameters as of `say_data`."""
    if not sides:
        use = str(asked["name"]).replace("_", " ")
        told = [f"Intervals of {100 * asked['level']:g} %; use of the score: {use}."]
        if asked["threshold"] is not None:
            told.append(f"People at or above {asked['threshold']:g} are selected.")
        return told
    first = sides[0]
    unit, seed = first["resampling_unit"], first["seed"]
    told = [f"Tests at {first['alpha']:g}, corrected together; resampled by {unit}; seed {seed}."]
    if first["success"]:
        counts = [f"{metric} {value:g}" for metric, value in first["success"].items()]
        told.append(f"An exam succeeds beyond {', '.join(counts)}.")
    return told


def _list(lines: Sequence[str]) -> str:
    told = [escape_markdown(line) for line in lines]
    return told[0] if len(told) == 1 else "\n".join(f"- {line}" for line in told)
