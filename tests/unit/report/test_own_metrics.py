"""A metric that nobody knows but its user: title, unit, sign and direction as declared, in every table, figure and
sentence that shows one.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.text import Text

from tworulers.audit import audit_scores
from tworulers.io.audits import read_audit, write_audit
from tworulers.report import gallery
from tworulers.report.gallery import ShownAudit, picture_inflation
from tworulers.report.page import Findings, Headline, RegimeChange, RulerChange, Section
from tworulers.report.render import Picture
from tworulers.report.sections import write_report
from tworulers.rulers import Audited, compare_regimes, compare_rulers, verdict_probability
from tworulers.schema import Audit, Metric
from tworulers.schema_sources import Attributes, Grouping
from tworulers.sentences import verdict_sentences

NAME, TITLE = "own", "Own score"
GROUPS = ("young", "old")
N = 24


@st.composite
def metrics(draw: st.DrawFn) -> tuple[Metric, float, float]:
    """A metric with a scale of its values and a threshold; titles and units that occur nowhere else."""
    higher = draw(st.booleans())
    if draw(st.booleans()):
        metric = Metric(NAME, TITLE, higher, low=0.0, high=1.0, perfect=1.0 if higher else 0.0)
        return metric, 0.2, draw(st.sampled_from([0.35, 0.5, 0.61]))
    unit = draw(st.sampled_from(["", "mm3", "voxels", "ml/min", "mm"]))
    scale = draw(st.sampled_from([0.004, 12.5, 5e5]))
    signed = draw(st.booleans())
    metric = Metric(NAME, TITLE, higher, unit, low=None if signed else 0.0)
    return metric, scale, round(draw(st.sampled_from([1.75, 2.5])) * scale, 6)


def make_scores(
    metric: Metric, scale: float, ruler: str, regime: str, shift: float
) -> pd.DataFrame:
    """24 exams; the old ones have the larger values by one ruler, and a wide gap by the other."""
    rng = np.random.default_rng(7)
    gap = np.repeat([0.0, shift], N // 2)
    rows = []
    for structure, move in (("cord", 0.0), ("disc", 0.05), ("macro", 0.02)):
        value = scale * (1.5 + move + gap + rng.normal(0, 0.3, N))
        rows.append(
            pd.DataFrame(
                {"exam_id": [f"e{i:02}" for i in range(N)], "value": np.abs(value)}
            ).assign(
                regime=regime,
                ruler=ruler,
                provenance=ruler,
                structure=structure,
                metric=metric.name,
                undefined_because=None,
            )
        )
    return pd.concat(rows, ignore_index=True)


def make_findings(metric: Metric, scale: float, threshold: float) -> tuple[Findings, list[str]]:
    """Two rulers and two regimes, as the stages would make them, and the sentences they would print."""
    asked = Audit(
        "own",
        metrics=[NAME],
        thresholds={NAME: threshold},
        sweep={NAME: [threshold, 1.2 * threshold]},
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
        scores = make_scores(metric, scale, ruler, regime, shift)
        found = audit_scores(
            scores, groups, pd.Series(exams, exams), asked, named, None, {NAME: metric}
        )
        audits[regime, ruler] = ShownAudit(found, f"{ruler} labels", scores)
        said += list(verdict_sentences(found, ruler, ruler)["sentence"])
    sides = {
        key: Audited(one.scores, one.result.tests, one.result.disparities, one.result.metrics)
        for key, one in audits.items()
    }
    change = compare_rulers(sides["mix", "gold"], sides["mix", "silver"], groups, asked)
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
            found[table.caption] = table.to_text()
    return found


@given(metrics())
@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_table_figure_and_sentence_shows_the_metric_as_declared(
    drawn: dict[str, str], made: tuple[Metric, float, float]
) -> None:
    metric, scale, threshold = made
    drawn.clear()
    findings, said = make_findings(metric, scale, threshold)
    headline, sections = write_report(findings)
    labelled = f"{TITLE}, macro ({metric.unit})" if metric.unit else f"{TITLE}, macro"
    rule = f"{'>' if metric.higher_is_better else '<'} {threshold:g} {metric.unit}".strip()
    wrong = "<" if metric.higher_is_better else ">"
    tables = tables_of(sections)
    shown_as_score = [
        "Own score, macro",
        "Tests of",
        "Success rates",
        "Differences of success",
        "What could have been",
        "Joint model",
        "The same predictions",
        "What changing the ruler did",
        "Regimes",
        "Every audit",
    ]
    for start in shown_as_score:
        texts = [text for caption, text in tables.items() if caption.startswith(start)]
        assert texts, start
        assert all(
            labelled in text.replace("cord", "macro").replace("disc", "macro") for text in texts
        )
    everything = "\n".join([*tables.values(), *drawn.values(), *said, *texts_of(headline)])
    assert f"{wrong} {threshold:g}" not in everything
    for start in ("Own score, macro", "Success rates", "Differences of success"):
        assert all(rule in t for c, t in tables.items() if c.startswith(start))
    for name in (f"dir_forest_{NAME}_macro", f"sweep_age_{NAME}_macro"):
        assert labelled in drawn[name]
    assert rule in drawn[f"dir_forest_{NAME}_macro"]
    sign = ">" if metric.higher_is_better else "<"
    assert f"score {sign} threshold" in drawn[f"sweep_age_{NAME}_macro"]
    for name in ("two_rulers_age", "inflation", "power", "gap_and_noise", "chance_age"):
        text = next(text for figure, text in drawn.items() if figure.startswith(name))
        assert TITLE in text
    check_units(metric, scale, said, headline, drawn)
    check_direction(metric, findings, said, tables)


def texts_of(headline: Headline) -> list[str]:
    rows = [text for row in headline.rows for text in (row.base, row.other)]
    return [headline.sentence, *headline.remarks, *rows]


def check_units(
    metric: Metric, scale: float, said: list[str], headline: Headline, drawn: dict[str, str]
) -> None:
    """Differences are in points only where the score is one from 0 to 1; else in the metric's unit."""
    written = [*said, *headline.remarks, *drawn.values()]
    assert any("points" in text for text in written) is metric.in_points
    assert any(" mm " in text or " mm)" in text for text in written) <= (metric.unit == "mm")
    gap = drawn[f"two_rulers_age_{NAME}_macro"]
    number = float(gap.split("gap of medians ")[1].split(" ")[0])
    true = number / 100 if metric.in_points else number
    assert 0.05 * scale < true < 3 * scale
    if metric.unit:
        assert f" {metric.unit} · within-group SD" in gap
        assert any(f" {metric.unit} apart" in text for text in said)
        assert any(f" {metric.unit} by gold" in text for text in headline.remarks)


def check_direction(
    metric: Metric, findings: Findings, said: list[str], tables: dict[str, str]
) -> None:
    """The old have the larger values: they are the best group where higher is better, else the worst."""
    best, worst = ("old", "young") if metric.higher_is_better else ("young", "old")
    result = findings.audits["mix", "silver"].result
    row = result.tests.query("grouping == 'age' and structure == 'macro'").iloc[0]
    assert (row["best_group"], row["worst_group"]) == (best, worst)
    tests = [t for c, t in tables.items() if c.startswith("Tests of") and "silver" in c]
    assert all(f"{best} / {worst}" in text for text in tests)
    assert any(f"best {best}, worst {worst}" in text for text in said)
    silver, gold = findings.audits["mix", "silver"], findings.audits["mix", "gold"]
    caption = picture_inflation(gold, silver, metric=NAME, structure="macro").caption
    assert ("which is worse" in caption) is (not metric.higher_is_better)


def test_the_declaration_travels_with_an_audit_on_disk(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    metric = Metric(NAME, TITLE, False, "mm3", low=-5.0, high=None, perfect=0.0)
    findings, _ = make_findings(metric, 12.5, 25.0)
    folder = tmp_path_factory.mktemp("audit")
    write_audit(findings.audits["mix", "gold"].result, folder)
    assert read_audit(folder).metrics == {NAME: metric}


def test_no_score_is_cut_from_the_page(drawn: dict[str, str]) -> None:
    """Twenty structures: each has its tests and its groups on the page."""
    metric = Metric(NAME, TITLE, True, "mm3")
    findings, _ = make_findings(metric, 12.5, 25.0)
    names = [f"s{i:02}" for i in range(20)]

    def widen(table: pd.DataFrame) -> pd.DataFrame:
        part = table[table["structure"] == "cord"]
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
    _, sections = write_report(replace(findings, audits=audits, changes=(), regimes=()))
    captions = list(tables_of(sections))
    said = " ".join(text for section in sections for text in section.paragraphs)
    # cord, disc and the twenty: of those only the rates are not on the page, and that is said
    assert "22 more scores are in disparities.parquet of each audit." in said
    for name in names:
        assert any(c.startswith(f"Tests of {TITLE}, {name} ") for c in captions)
        assert any(c.startswith(f"{TITLE}, {name} ") for c in captions)
