"""One page with the fields of a model card (Mitchell et al. 2019), in Markdown: what an audit says of a model."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from json import dumps
from typing import Any

from tworulers import __version__
from tworulers.report.tables import Table, escape_markdown

INTENDED = (
    "To tell whether the model serves the groups below alike, on exams like these.",
    "Out of scope: clinical benefit and safety, other groups, and why groups differ.",
)
UNNAMED = "Not named by whoever made this card."
UNKNOWN = "Not known: the predictions were made elsewhere."
NOT_SHOWN = "A difference that was not shown is no evidence that there is none."
AS_RECORDED = "Groups are as they were recorded; what else differs between them is not taken out."
ADVICE = "Audit again on your own exams before use, with labels that were drawn without the model's help."
DIGITS = 16
"""Hexadecimal digits of the digest of settings."""


@dataclass(frozen=True)
class CardFacts:
    """What a card says, gathered from a result.

    Attributes
    ----------
    title : what was asked of what.
    model : what is audited; empty where nobody named it.
    factors : the groupings that the table shows, with the size of their groups.
    metrics : what was measured, and from which value or margin on it counts.
    evaluation : exams, patients, and whose labels judge.
    training : what the model learnt from; empty where that is not known.
    answers : what may be said.
    table : the answer by grouping; None where nothing was grouped.
    missed : what could have been missed.
    caveats : what the answers are to be read with.
    settings : that the result was made with.
    rest : where all else is said.
    """

    title: str
    model: Sequence[str]
    factors: Sequence[str]
    metrics: Sequence[str]
    evaluation: Sequence[str]
    training: Sequence[str]
    answers: Sequence[str]
    table: Table | None
    missed: Sequence[str]
    caveats: Sequence[str]
    settings: Any
    rest: str


def write_card(facts: CardFacts, model: str = "", intended_use: str = "") -> str:
    """Write the card.

    Parameters
    ----------
    facts : what it says.
    model : what the model is called; empty takes the names that the result has.
    intended_use : of the audit; empty takes what every audit may be used for.
    """
    content = dumps(asdict(facts.settings), sort_keys=True, default=str)
    digest = sha256(content.encode()).hexdigest()[:DIGITS]
    sections: dict[str, Sequence[str]] = {
        "Model details": [model] if model else facts.model or [UNNAMED],
        "Intended use": [intended_use or INTENDED[0], *INTENDED[1:]],
        "Factors": facts.factors,
        "Metrics": facts.metrics,
        "Evaluation data": facts.evaluation,
        "Training data": facts.training or [UNKNOWN],
        "Quantitative analyses": facts.answers,
        "What could have been missed": facts.missed or [NOT_SHOWN],
        "Caveats and recommendations": [*facts.caveats, AS_RECORDED, ADVICE],
        "How this was made": [f"tworulers {__version__}, settings SHA-256 {digest}. {facts.rest}"],
    }
    parts = [f"# {escape_markdown(facts.title)}\n"]
    for heading, lines in sections.items():
        if lines:
            parts.append(f"## {heading}\n\n{_list(lines)}\n")
        if heading == "Quantitative analyses" and facts.table is not None:
            parts.append(facts.table.to_markdown())
    return "\n".join(parts)


def _list(lines: Sequence[str]) -> str:
    told = [escape_markdown(line) for line in lines]
    return told[0] if len(told) == 1 else "\n".join(f"- {line}" for line in told)
