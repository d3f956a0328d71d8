"""A metric that nobody knows but its user: title, unit, sign and direction as declared, in every table, figure and
sentence that shows one.
"""

import re
from dataclasses import dataclass, replace
from html import unescape
from math import inf

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from tworulers.battery.audit import audit_scores
from tworulers.diagnosis.comparison import (
    Audited,
    compare_regimes,
    compare_rulers,
)
from tworulers.diagnosis.probability import verdict_probability
from tworulers.io.audits import read_audit, write_audit
from tworulers.metrics.registry import METRICS
from tworulers.report import gallery
from tworulers.report.briefs import brief_rulers
from tworulers.report.choose import MOST_SCORES
from tworulers.report.data_files import list_data
from tworulers.report.findings import Findings, RegimeChange, RulerChange, ShownAudit
from tworulers.report.lay_out import write_report
from tworulers.report.page import Section
from tworulers.report.render import Picture, name_picture
from tworulers.report.words.groupings import verdict_sentences
from tworulers.report.words.headline import Headline
from tworulers.report.words.rulers import put_into_words
from tworulers.schema.metric import Metric
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping

GROUPS = ("young", "old")
N = 24


@dataclass(frozen=True)
class Made:
    """A metric as drawn, where its values lie, and what counts as success."""

    metric: Metric
    middle: float
    scale: float
    threshold: float

    def label(self, structure: str) -> str:
        unit = f" ({self.metric.unit})" if self.metric.unit else ""
        return f"{self.metric.title}, {structure}{unit}"

    @property
    def rule(self) -> str:
        sign = ">" if self.metric.higher_is_better else "<"
        return f"{sign} {self.threshold:g} {self.metric.unit}".strip()


@st.composite
def metrics(draw: st.DrawFn, kind: str) -> Made:
    """Any metric of a kind; titles and units that occur nowhere else."""
    name = draw(
        st.from_regex(r"[a-z][a-z0-9_]{2,9}z", fullmatch=True).filter(lambda x: x not in METRICS)
    )
    title = draw(st.from_regex(r"[A-ZÄÖ][a-hß&<$'-]{1,6} ?[a-hé]{2,5}q", fullmatch=True))
    higher = draw(st.booleans())
    if kind == "share":
        metric = Metric(name, title, higher, low=0.0, high=1.0, perfect=float(higher))
        return Made(metric, 0.3, 0.2, draw(st.sampled_from([0.35, 0.5, 0.61])))
    if kind == "correlation":
        metric = Metric(name, title, higher, low=-1.0, high=1.0)
        return Made(metric, -0.2, 0.2, draw(st.sampled_from([-0.05, 0.17, 0.31])))
    unit = draw(st.sampled_from(["", "mm3", "µl", "ml/min", "%", "mm"]))
    scale = draw(st.sampled_from([0.0044, 12.5, 5e5]))
    signed = kind == "signed"
    metric = Metric(name, title, higher, unit, low=None if signed else 0.0)
    threshold = round(
        draw(st.sampled_from([0.25, 0.75, 1.25] if not signed else [-0.35, 0.25, 0.75])) * scale, 6
    )
    return Made(
        metric,
        -0.25 * scale if signed else 1.5 * scale,
        scale,
        threshold if signed else threshold + 1.5 * scale,
    )


def make_scores(made: Made, ruler: str, regime: str, shift: float) -> pd.DataFrame:
    """24 exams; the old ones have the larger values by one ruler, and a wide gap by the other."""
    rng = np.random.default_rng(7)
    gap = np.repeat([0.0, shift], N // 2)
    rows = []
    for structure, move in (("disc", 0.05), ("macro", 0.02)):
        value = made.middle + made.scale * (move + gap + rng.normal(0, 0.3, N))
        rows.append(
            pd.DataFrame({"exam_id": [f"e{i:02}" for i in range(N)], "value": value}).assign(
                regime=regime,
                ruler=ruler,
                provenance=ruler,
                structure=structure,
                metric=made.metric.name,
                undefined_because=None,
            )
        )
    return pd.concat(rows, ignore_index=True)


def make_findings(made: Made) -> tuple[Findings, list[str]]:
    """Two rulers and two regimes, as the stages would make them, and the sentences they would print."""
    metric, threshold = made.metric, made.threshold
    asked = Audit(
        "own",
        metrics=[metric.name],
        thresholds={metric.name: threshold},
        sweep={metric.name: [threshold, threshold + 0.3 * made.scale]},
        bootstrap_draws=40,
        permutations=20,
        power_draws=20,
        linear_terms=["age"],
    )
    exams = pd.Index([f"e{i:02}" for i in range(N)], name="exam_id")
    age = pd.Categorical(np.repeat(GROUPS, N // 2), GROUPS, ordered=True)
    half = pd.Categorical(np.tile(("left", "right"), N // 2), ("left", "right"), ordered=True)
    groups = pd.DataFrame({"age": age, "side": half}, index=exams)
    named = Attributes("two", groupings={"age": Grouping("Age"), "side": Grouping("Side")})
    shifts = {("mix", "gold"): 0.4, ("mix", "silver"): 1.4, ("gold", "gold"): 0.9}
    audits, said = {}, []
    for (regime, ruler), shift in shifts.items():
        scores = make_scores(made, ruler, regime, shift)
        found = audit_scores(
            scores, groups, pd.Series(exams, exams), asked, named, None, {metric.name: metric}
        )
        audits[regime, ruler] = ShownAudit(found, f"{ruler} labels", scores)
        said += list(verdict_sentences(found, ruler, ruler)["sentence"])
    sides = {
        key: Audited(one.scores, one.result.tests, one.result.disparities, one.result.metrics)
        for key, one in audits.items()
    }
    change = put_into_words(
        compare_rulers(sides["mix", "gold"], sides["mix", "silver"], groups, asked)
    )
    base, other = audits["mix", "gold"].scores, audits["mix", "silver"].scores
    traced = verdict_probability(base, other, groups, [12, 24], 4, 0)
    regimes = compare_regimes(sides["gold", "gold"], sides["mix", "gold"], groups, asked)
    said += list(change.verdicts["sentence"])
    findings = Findings(
        "Own",
        "Two groupings",
        audits,
        changes=[RulerChange("mix", "gold", "silver", change, traced)],
        regimes=[RegimeChange("gold", "mix", "gold", regimes)],
        groups=groups,
    )
    return findings, said


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The text of every figure and its caption, by the figure's name, in place of drawings."""
    texts: dict[str, str] = {}

    def read(figure: Figure, name: str, caption: str) -> Picture:
        words = [text.get_text() for text in figure.findobj(Text)]
        for ax in figure.axes:
            words += [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
        texts[name] = "\n".join([*words, caption])
        return Picture(name, caption, "<svg></svg>", b"")

    monkeypatch.setattr(gallery, "take_picture", read)
    return texts


def tables_of(sections: list[Section]) -> dict[str, str]:
    found = {}
    for section in sections:
        for table in (*section.tables, *section.details):
            found[table.caption] = unescape(re.sub(r"<[^>]+>", " ", table.to_html()))
    return found


def flat(text: str) -> str:
    """Undo the line breaks of labels."""
    return " ".join(text.split())


SHOWS_NO_SCORE = ("Is the ruler independent", "What each grouping shows")
"""Tables that are about Dice, whatever is audited."""

ALL_STRUCTURES = ("The same predictions", "What changing", "Regimes", "Every audit")
"""Tables that name the score in each row, and not in their captions."""


@pytest.mark.parametrize("kind", ["share", "unit", "signed", "correlation"])
@given(data=st.data())
@settings(
    max_examples=1,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_every_table_figure_and_sentence_shows_the_metric_as_declared(
    drawn: dict[str, str], kind: str, data: st.DataObject
) -> None:
    made = data.draw(metrics(kind))
    drawn.clear()
    findings, said = make_findings(made)
    headline, sections = write_report(findings)
    tables = {caption: flat(text) for caption, text in tables_of(sections).items()}
    figures = {name: flat(text) for name, text in drawn.items()}
    check_tables(made, tables)
    check_figures(made, figures)
    check_sentences(made, findings, [*said, *words_of(headline, sections)])
    check_rulers(made, findings, tables)
    check_words(made, [*tables.values(), *figures.values(), *said, *texts_of(headline)])


def check_words(made: Made, written: list[str]) -> None:
    """No other direction than the metric's, and no unit but its own, stands anywhere."""
    everything = "\n".join(written)
    wrong = "<" if made.metric.higher_is_better else ">"
    assert f"{wrong} {made.threshold:g}" not in everything
    assert ("points" in everything.replace("percentage points", "")) is made.metric.in_points
    for unit in {"mm", "mm3"} - {made.metric.unit}:
        assert not re.search(rf"[\d( ]{unit}[) ,;.]", everything)


def texts_of(headline: Headline) -> list[str]:
    rows = [text for row in headline.rows for text in (row.base, row.other)]
    return [headline.sentence, *headline.remarks, *rows]


def words_of(headline: Headline, sections: list[Section]) -> list[str]:
    return [*texts_of(headline), *(text for section in sections for text in section.paragraphs)]


def check_tables(made: Made, tables: dict[str, str]) -> None:
    """Title and unit stand on every table, success by the sign of the direction on those of success."""
    metric = made.metric
    labels = [made.label(structure) for structure in ("macro", "disc")]
    rule = made.rule
    for caption, text in tables.items():
        if caption.startswith(SHOWS_NO_SCORE):
            continue
        shown = [label for label in labels if label in text]
        assert shown, caption
        if caption.startswith(ALL_STRUCTURES):
            assert labels[0] in shown
        if caption.startswith(
            (metric.title, "Success rates", "Differences of success", "Below four")
        ):
            assert rule in text, caption
    for start in (
        metric.title,
        "Tests of",
        "Success rates",
        "What could have been",
        *ALL_STRUCTURES,
    ):
        assert any(caption.startswith(start) for caption in tables), start


def check_figures(made: Made, figures: dict[str, str]) -> None:
    """Title on every figure and in its caption or axes; the unit on every axis that is in it."""
    metric = made.metric
    label, where = made.label("macro"), (metric.name, "macro")
    assert figures
    for name, text in figures.items():
        assert metric.title in text, name
    sweep, forest = name_picture("sweep", "age", *where), name_picture("dir_forest", *where)
    scaled = (name_picture("two_rulers", "age", *where), name_picture("inflation", *where), sweep)
    for name in (*scaled, forest):
        assert label in figures[name], name
    assert any(name.startswith("power") and label in text for name, text in figures.items())
    sign = ">" if metric.higher_is_better else "<"
    assert made.rule in figures[forest]
    assert f"score {sign} threshold" in figures[sweep]
    panels = re.findall(r"gap of medians (.+?) · within-group SD (.+?) p = ", figures[scaled[0]])
    assert len(panels) == 2
    for written in (written for panel in panels for written in panel):
        number, unit = re.fullmatch(r"([\d.e+-]+) ?(.*)", written).groups()
        assert unit == ("points" if metric.in_points else metric.unit)
        assert 0.01 * made.scale < float(number) / (100 if metric.in_points else 1) < 3 * made.scale
    assert ("which is worse" in figures[scaled[1]]) is (not metric.higher_is_better)


def check_sentences(made: Made, findings: Findings, said: list[str]) -> None:
    """What is said of a score names it, and every distance has the unit of the metric."""
    metric, named = made.metric, [text for text in said if "medians" in text or "Mean " in text]
    assert any("medians" in text for text in named)
    assert any("Mean " in text for text in named)
    assert all(metric.title in text for text in named)
    unit = "points" if metric.in_points else metric.unit
    for text in said:
        for number, following in re.findall(r"medians ([\d.e+-]+)(.{0,12}?) apart", text):
            assert following.strip() == unit
            assert float(number) >= 0
    tests = findings.audits["mix", "silver"].result.tests
    row = tests.query("grouping == 'age' and structure == 'macro'").iloc[0]
    best, worst = ("old", "young") if metric.higher_is_better else ("young", "old")
    assert (row["best_group"], row["worst_group"]) == (best, worst)
    assert any(f"best {best}, worst {worst}" in text for text in said)


def check_rulers(made: Made, findings: Findings, tables: dict[str, str]) -> None:
    """Two rulers are compared in the metric's direction and unit, on the page and on the console."""
    metric = made.metric
    best, worst = ("old", "young") if metric.higher_is_better else ("young", "old")
    comparison = findings.changes[0].comparison
    row = comparison.inflation.query("structure == 'macro'").iloc[0]
    text = tables["The same predictions under two rulers"]
    for mean in (row["mean_base"], row["mean_other"]):
        assert metric.write_bare(mean) in text
    assert metric.write_difference(row["mean"]) in text
    verdict = comparison.verdicts.query("grouping == 'age' and structure == 'macro'").iloc[0]
    assert (verdict["best_other"], verdict["worst_other"]) == (best, worst)
    tests = [text for caption, text in tables.items() if caption.startswith("Tests of")]
    assert all(f"{best} / {worst}" in text for text in tests)
    gaps = [metric.write_difference(verdict[f"gap_{side}"]) for side in ("base", "other")]
    assert f"{gaps[0]} → {gaps[1]}" in tables["What changing the ruler did"]
    assert f"gap {gaps[0]} to {gaps[1]}" in verdict["sentence"]
    flips = comparison.verdicts["flip"].isin(["base_only", "other_only"])
    changed = set(comparison.verdicts.loc[flips, "sentence"])
    assert all(metric.title in text for text in changed)
    assert changed <= {text for text in brief_rulers(comparison) if isinstance(text, str)}


def test_the_declaration_travels_with_an_audit_on_disk(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    metric = Metric(
        "own",
        "Own",
        False,
        "mm3",
        low=-5.0,
        perfect=0.0,
        both_empty=0.0,
        one_empty=inf,
        needs="border",
    )
    findings, _ = make_findings(Made(metric, 19.0, 12.5, 25.0))
    folder = tmp_path_factory.mktemp("audit")
    write_audit(findings.audits["mix", "gold"].result, folder)
    assert read_audit(folder).metrics == {"own": metric}


def test_of_many_scores_the_page_shows_those_with_a_finding_and_says_how_many(
    drawn: dict[str, str],
) -> None:
    """Twenty structures: macro and those with the smallest p are shown, and every one can be downloaded."""
    metric = Metric("own", "Own score", True, "mm3")
    findings, _ = make_findings(Made(metric, 19.0, 12.5, 25.0))
    names = [f"s{i:02}" for i in range(20)]

    def widen(table: pd.DataFrame) -> pd.DataFrame:
        part = table[table["structure"] == "disc"]
        return pd.concat([table, *(part.assign(structure=name) for name in names)])

    audits = {
        key: replace(
            one,
            result=replace(
                one.result,
                tests=widen(one.result.tests),
                groups=widen(one.result.groups),
                disparities=widen(one.result.disparities),
            ),
        )
        for key, one in findings.audits.items()
    }
    found = replace(findings, audits=audits, changes=(), regimes=())
    _, sections = write_report(found)
    captions = list(tables_of(sections))
    said = " ".join(text for section in sections for text in section.paragraphs)
    assert f"{MOST_SCORES} of 22 scores" in said
    tests = [c for c in captions if c.startswith("Tests of Own score, ")]
    assert len(tests) == MOST_SCORES
    assert any(", macro " in caption for caption in tests)
    data = list_data(found)
    for table in ("tests", "groups", "disparities"):
        assert all(f",{name}," in data[table] for name in names)
