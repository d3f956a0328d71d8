"""What every answer of the Python door is: tables, sentences and warnings that print, tabulate and draw themselves."""

import html
import json
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import pandas as pd

from tworulers.api.contrasts import DIFFERENCE, RATIO, contrast_groups
from tworulers.io.records import finite_or_null
from tworulers.report.tables import make_table
from tworulers.report.words.model_card import CardFacts, write_card
from tworulers.schema.tables import SCHEMA_VERSION

WIDTH, HEIGHT = 100, 40
"""Characters of a line and lines of a printed result: one screen."""

PACKAGE = __file__.rpartition("/api/")[0]
"""Where this package lies; a warning points to the line outside of it."""


class AuditWarning(UserWarning):
    """What a result leaves out, or stands on less than it seems to; also in the result's `warnings`.

    Examples
    --------
    >>> import warnings
    >>> import tworulers as tr
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", tr.AuditWarning)
    ...     r = tr.audit_risk([0, 1, 0, 1, 1], [0.2, 0.9, 0.4, 0.6, 0.7], ["a", "a", "b", "b", "c"])
    >>> len(r.warnings) > 0
    True
    """


def warn(sentences: Iterable[str]) -> list[str]:
    """Warn once of each sentence, at the line of the caller outside this package; return the sentences."""
    told = list(dict.fromkeys(sentences))
    for sentence in told:
        warnings.warn(sentence, AuditWarning, stacklevel=_count_frames())
    return told


def _count_frames() -> int:
    """Count the frames from `warn` up to the first one outside of this package."""
    frame, n = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, n = frame.f_back, n + 1
    return n


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """An answer. Tables are tidy frames, one row what their first columns say.

    Attributes
    ----------
    title : what was asked of what, in a line.
    summary : one row a grouping: how it came out.
    by_group : one row a group and score: how many, and where they lie.
    overall : one row a score, over all rows, in a group or not.
    tests : one row a test.
    intervals : one row a signed contrast of two groups: `of` what, `group` minus (or over) `against`, `low`, `high`.
    power : the smallest gap that would have been found with 80 % power.
    sentences : what may be said, each naming what judged.
    warnings : what was left out, or is less sure than it looks; each was warned of once, as `AuditWarning`.
    metadata : what was asked, of how many, and the version of the tables.
    """

    title: str
    summary: pd.DataFrame
    by_group: pd.DataFrame
    overall: pd.DataFrame
    tests: pd.DataFrame
    intervals: pd.DataFrame
    power: pd.DataFrame
    sentences: list[str]
    warnings: list[str]
    metadata: dict[str, Any]
    figure: Callable[[], Any] = field(kw_only=True)
    card: Callable[[], CardFacts] = field(kw_only=True)
    figures: Mapping[str, Callable[[], Any]] = field(kw_only=True, default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a reference group that there is not."""
        for grouping, group in self.metadata["reference"].items():
            there = self.by_group.loc[self.by_group["grouping"] == grouping, "group"].unique()
            if group not in there:
                raise ValueError(
                    f"reference: no group {group!r} of {grouping!r}; there are {list(map(str, there))} "
                    f"(groupings: {', '.join(self.by_group['grouping'].unique())})"
                )

    VALUE: ClassVar[str] = "mean"
    """The value by group that is contrasted where none is named."""

    def difference(
        self, of: str = "", *, pairs: bool = False, skip_undefined: bool = False
    ) -> pd.DataFrame:
        """Return how far groups lie apart: highest minus lowest, or each minus the reference group that was given.

        Parameters
        ----------
        of : the numeric column of `by_group` that is contrasted; by default the mean (of a risk score the AUC).
        pairs : of more than two groups every pair, the later in order minus the earlier, each with its own interval.
        skip_undefined : contrast the other groups where one has no finite value. By default such a difference is NaN,
            and a warning names the group.

        Returns
        -------
        Indexed by grouping and score: `group`, `against`, `difference`, `low`, `high`. The bounds are those of a signed
        pair. Of more than two groups the extremes were chosen after the fact and have none; `pairs=True` has all, and
        whether groups differ is the question of `tests`.

        Examples
        --------
        >>> import numpy as np, tworulers as tr
        >>> site, noise = np.repeat(["A", "B", "C"], 30), np.random.default_rng(1).normal(0, 0.02, 90)
        >>> dice = np.repeat([0.9, 0.85, 0.84], 30) + noise
        >>> r = tr.audit(dice, {"site": site}, provenance="gold", metric="dice")
        >>> r.difference()[["group", "against", "low"]].to_numpy().tolist()
        [['A', 'C', nan]]
        >>> apart = r.difference(pairs=True)
        >>> apart[["group", "against"]].to_numpy().tolist()
        [['B', 'A'], ['C', 'A'], ['C', 'B']]
        >>> ((apart["low"] < 0) & (apart["high"] < 0)).tolist()
        [True, True, True]
        """
        return self._contrast(of, DIFFERENCE, skip_undefined, pairs)

    def ratio(self, of: str = "", *, skip_undefined: bool = False) -> pd.DataFrame:
        """Return the ratio of groups: lowest over highest, or each over the reference group that was given.

        Parameters
        ----------
        of, skip_undefined : as of `difference`. Of `rate` it is the disparate impact ratio, with its recommended
            interval.

        Returns
        -------
        Indexed by grouping and score: `group`, `against`, `ratio`, `low`, `high`; NaN over nothing.
        """
        return self._contrast(of, RATIO, skip_undefined)

    def _contrast(
        self, of: str, contrast: str, skip_undefined: bool, pairs: bool = False
    ) -> pd.DataFrame:
        of = of or self.VALUE
        if of not in self.by_group or not pd.api.types.is_numeric_dtype(self.by_group[of]):
            numbers = list(self.by_group.select_dtypes("number").columns)
            raise ValueError(f"of={of!r} is no number of by_group; it has {numbers}")
        found, faults = contrast_groups(
            self.by_group,
            self.intervals,
            of,
            contrast,
            self.metadata["reference"],
            skip_undefined=skip_undefined,
            pairs=pairs,
        )
        warn(faults)
        return found

    def to_frame(self, table: str = "by_group") -> pd.DataFrame:
        """Return one of the tables, by name."""
        tables = self._list_tables()
        if table not in tables:
            raise ValueError(f"there is no table {table!r}; there are {list(tables)}")
        return tables[table].copy()

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as plain dictionaries, lists, numbers and texts; what is not finite is None."""
        tables = {name: frame.to_dict("records") for name, frame in self._list_tables().items()}
        said = {"sentences": self.sentences, "warnings": self.warnings, "metadata": self.metadata}
        whole = {"schema_version": SCHEMA_VERSION, "title": self.title, **said, **tables}
        plain: dict[str, Any] = finite_or_null(whole)
        return plain

    def to_json(self) -> str:
        """Return all of it as strict JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_html(self) -> str:
        """Return sentences, warnings and tables as one HTML page that needs no other file."""
        style = "body{font-family:sans-serif;max-width:70em;margin:2em auto}td,th{padding:.1em .6em;text-align:left}"
        head = (
            f"<meta charset='utf-8'><title>{html.escape(self.title)}</title><style>{style}</style>"
        )
        tables = "".join(
            _write_table(name, frame) for name, frame in self._list_tables().items() if len(frame)
        )
        return f"<!doctype html><html lang='en'><head>{head}</head><body>{self._repr_html_()}{tables}</body></html>"

    def to_model_card(self, model: str = "", intended_use: str = "") -> str:
        """Return one page of Markdown with the fields of a model card, of at most five groupings.

        Parameters
        ----------
        model : what the model is called, and where it is described.
        intended_use : of this audit, in a sentence; by default what every such audit may be used for.

        Examples
        --------
        >>> import numpy as np, tworulers as tr
        >>> sex, dice = np.tile(["F", "M"], 20), np.linspace(0.7, 0.9, 40)
        >>> r = tr.audit(dice, {"sex": sex}, provenance="gold", metric="dice")
        >>> card = r.to_model_card("spine segmentation, v2")
        >>> [line for line in card.splitlines() if line.startswith("## ")][:3]
        ['## Model details', '## Intended use', '## Factors']
        """
        return write_card(self.card(), model, intended_use)

    def plot(self, what: str = "") -> Any:
        """Draw the answer; return a `matplotlib.figure.Figure`, which `savefig` writes.

        Parameters
        ----------
        what : `scores` draws the scores of every group, where there are scores of exams (the macro, or the first;
            `disc/hd95` another); by default every test, or the AUC matrix of a risk score.

        Examples
        --------
        >>> import numpy as np, tworulers as tr
        >>> sex, dice = np.tile(["F", "M"], 20), np.linspace(0.7, 0.9, 40)
        >>> r = tr.audit(dice, {"sex": sex}, provenance="gold", metric="dice")
        >>> r.plot("scores").axes[0].get_title(loc="left")
        'sex'
        """
        figures = {"": self.figure, **self.figures}
        if what not in figures:
            raise ValueError(f"there is no figure {what!r}; there are {list(figures)}")
        return figures[what]()

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(text)}</p>" for text in self.sentences)
        warned = "".join(f"<li>{html.escape(text)}</li>" for text in self.warnings)
        told = f"<p>Warnings:</p><ul>{warned}</ul>" if warned else ""
        return (
            f"<h2>{html.escape(self.title)}</h2>{said}{told}{_write_table('summary', self.summary)}"
        )

    def __repr__(self) -> str:
        """Write one screen: the title, the sentences, and how many warnings there are."""
        lines, shown = [self.title], 0
        for sentence in self.sentences:
            wrapped = textwrap.wrap(sentence, WIDTH, subsequent_indent="  ")
            if shown and len(lines) + len(wrapped) > HEIGHT - 2:
                break
            lines, shown = lines + wrapped, shown + 1
        left = {"more in .sentences": len(self.sentences) - shown}
        left["in .warnings"] = len(self.warnings)
        return "\n".join([*lines, *(f"({n} {where})" for where, n in left.items() if n)])

    def _list_tables(self) -> dict[str, pd.DataFrame]:
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, pd.DataFrame)}


def _write_table(name: str, frame: pd.DataFrame) -> str:
    rows = [[_write_cell(cell) for cell in row] for row in frame.itertuples(index=False)]
    return make_table(name.replace("_", " "), list(map(str, frame.columns)), rows).to_html()


def _write_cell(cell: object) -> str:
    if cell is None or cell is pd.NA or cell != cell:
        return ""
    return f"{cell:.4g}" if isinstance(cell, float) else str(cell)
