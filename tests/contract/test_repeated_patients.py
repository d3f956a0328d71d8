"""No p and no interval that is shown ignores a repeated patient: copies of exams must not make anything surer."""

import re
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tworulers.cohort.describe import describe_cohort
from tworulers.metrics.registry import METRICS
from tworulers.report.briefs import brief_rulers
from tworulers.report.cohort_tables import tabulate_relations
from tworulers.report.endings import end_answer, end_audit, end_models, end_rulers
from tworulers.report.from_study import gather_findings
from tworulers.report.lay_out import write_report
from tworulers.report.tables import Table
from tworulers.report.view import make_view
from tworulers.report.words import rulers
from tworulers.schema.exam_level import EXAM_LEVEL
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping
from tworulers.study import Reference, Study

COPIES = (1, 4)
PATIENTS = 30
Page = tuple[Any, list[Any]]
"""Headline and sections."""

SIDES = (("first", "expert"), ("first", "machine"), ("second", "expert"))
SLACK = 0.03
"""What chance may make of a p, and of the width of an interval in parts of it."""

SETTINGS = Audit(
    name="few",
    metrics=["dice"],
    structures=["vb", "disc"],
    thresholds={"dice": 0.8},
    bootstrap_draws=600,
    permutations=600,
    power_draws=20,
    linear_terms=["sex", "band", "age"],
    margin={"dice": 3, "failures": 20},
    seed=3,
)
GROUPINGS = {
    name: Grouping(kind="levels", column=name, levels={x: [x] for x in order}, group_order=order)
    for name, order in (("sex", ["F", "M"]), ("band", ["young", "middle", "old"]))
}
OF_EXAMS = re.compile(r"of exams|published")
"""Columns of the page that say that they count every exam on its own."""


def make_study(copies: int, unit: str) -> Study:
    """Make a study of 30 patients with two exams each, every exam copied so many times."""
    rng = np.random.default_rng(5)
    patient = np.repeat(np.arange(PATIENTS), 2)
    sex = np.array(["F", "M"])[rng.permutation(PATIENTS) % 2][patient]
    place = rng.permutation(PATIENTS) % 3
    age = (35.0 + 20 * place + rng.integers(0, 15, PATIENTS))[patient]
    people = pd.DataFrame({"exam_id": [f"e{i:03d}" for i in range(len(patient))]}).assign(
        patient_id=[f"p{i:02d}" for i in patient],
        sex=sex,
        band=np.array(["young", "middle", "old"])[place][patient],
        age=age,
    )
    gap = 0.3 * (sex == "M") + 0.5 * place[patient]
    rows = []
    for structure in ("vb", "disc"):
        own = gap + 0.9 * rng.normal(size=PATIENTS)[patient] + 0.4 * rng.normal(size=len(patient))
        for model, worse in (("first", 0.0), ("second", 0.05)):
            for ruler, noise in (("expert", 1.0), ("machine", 0.55)):
                error = 0.12 * np.exp(0.35 * noise * own + worse + 0.1 * rng.normal(size=len(own)))
                if (model, ruler) not in SIDES:
                    continue
                row = {"exam_id": people["exam_id"], "regime": model, "ruler": ruler}
                row |= {"structure": structure, "metric": "dice", "value": 1 - error}
                rows.append(pd.DataFrame(row))
    scores = pd.concat(rows, ignore_index=True).assign(undefined_because=None)
    scores["provenance"] = scores["ruler"].map({"expert": "gold", "machine": "silver"})
    copied = [
        pd.concat([table.assign(exam_id=table["exam_id"] + f"-{c}") for c in range(copies)])
        for table in (scores, people)
    ]
    return Study(
        scores=copied[0].reset_index(drop=True),
        people=copied[1].reset_index(drop=True),
        attributes=Attributes("some", "Some groupings", unit, GROUPINGS),
        settings=SETTINGS,
        references={
            "expert": Reference("expert", "the experts", "gold"),
            "machine": Reference("machine", "the machine", "silver"),
        },
        models={"first": "first", "second": "second"},
        metrics={"dice": METRICS["dice"]},
    )


@pytest.fixture(scope="module", params=["exam", "patient"])
def studies(request: pytest.FixtureRequest) -> dict[int, Study]:
    """Ask the same of the exams and of their copies."""
    asked = {copies: make_study(copies, request.param) for copies in COPIES}
    for study in asked.values():
        for model, reference in study.sides:
            study.audit(reference, model)
        study.compare("expert", "machine", "first")
        study.compare_models("first", "second", "expert")
    return asked


def list_frames(study: Study) -> Iterator[tuple[str, pd.DataFrame]]:
    """Every table of an audit and of both comparisons, by name."""
    known = study.known
    results = [known.audits["first", "expert"], *known.rulers.values(), *known.models.values()]
    yield "cohort.confounders", relate_people(study)
    for result in results:
        for field in fields(result):
            table = getattr(result, field.name)
            if isinstance(table, pd.DataFrame) and len(table):
                yield f"{type(result).__name__}.{field.name}", table


def relate_people(study: Study) -> pd.DataFrame:
    """What goes together in the people: groups, scanners, ages and volumes."""
    rng = np.random.default_rng(1)
    exams = study.people.assign(age_over_89=False, provenance="gold", field_strength_t=1.5)
    scanner = dict(zip(exams["patient_id"].unique(), rng.choice(["A", "B"], PATIENTS), strict=True))
    size = dict(zip(scanner, rng.normal(20.0, 3.0, PATIENTS), strict=True))
    exams = exams.assign(manufacturer=exams["patient_id"].map(scanner))
    volumes = exams[["exam_id"]].assign(structure="vb", volume_mm3=exams["patient_id"].map(size))
    return describe_cohort(exams, study.attributes, volumes)["confounders"]


def is_p(column: str) -> bool:
    return re.search(r"(^|_)p(_|$)", column) is not None and "undefined" not in column


def compare_frames(studies: dict[int, Study]) -> Iterator[tuple[str, str, pd.Series, pd.Series]]:
    """Each column that is a p, or the width of an interval, of the exams and of their copies."""
    once, often = (dict(list_frames(studies[copies])) for copies in COPIES)
    assert once.keys() == often.keys()
    for name, first in once.items():
        second = often[name]
        assert len(first) == len(second), name
        for column in map(str, first.columns):
            low = re.fullmatch(r"(.*?)_?low", column)
            if is_p(column) and pd.api.types.is_float_dtype(first[column]):
                yield name, column, first[column], second[column]
            elif low and pd.api.types.is_float_dtype(first[column]):
                high = f"{low[1]}_high".lstrip("_")
                if high in first:
                    widths = [table[high] - table[column] for table in (first, second)]
                    yield name, column, *widths


def test_copies_of_exams_make_no_p_and_no_interval_of_a_table_surer(
    studies: dict[int, Study],
) -> None:
    seen, surer = set(), []
    for name, column, first, second in compare_frames(studies):
        table = name.split(".")[1]
        if column in EXAM_LEVEL.get(table, ()):
            continue
        seen.add(f"{table}.{column}")
        slack = SLACK if is_p(column) else SLACK * first.abs()
        less = second < first - slack - 1e-9
        lost = first.notna() & second.isna()
        if (less | lost).any():
            surer.append(
                f"{name}.{column}: {first[less | lost].tolist()} {second[less | lost].tolist()}"
            )
    assert surer == []
    wanted = {"tests.p_verdict", "tests.median_gap_low", "disparities.p_dpd", "rates.rate_low"}
    wanted |= {"linear.p_verdict", "linear.verdict_low", "differences.rate_difference_low"}
    wanted |= {"posthoc.p", "verdicts.spread_p", "verdicts.swap_p", "inflation.mean_low"}
    wanted |= {"confounders.p_verdict", "equivalence.shift_low"}
    wanted |= {"disparities.dir_low", "closeness.forgiven_low", "repeats.p", "by_group.p_verdict"}
    assert wanted <= seen


def test_what_is_declared_to_count_exams_does(studies: dict[int, Study]) -> None:
    """Else the other test would see nothing: p of exams fall as copies are made."""
    falls = {
        f"{name.split('.')[1]}.{column}"
        for name, column, first, second in compare_frames(studies)
        if column in EXAM_LEVEL.get(name.split(".")[1], ()) and (second < 0.9 * first).any()
    }
    assert {
        "confounders.p",
        "tests.p",
        "linear.p",
        "linear.low",
        "rates.wilson_low",
        "spread.hc3_p",
    } <= falls
    assert {"inflation.wilcoxon_p", "decomposition.p_base_base", "differences.wilcoxon_p"} <= falls


def draw_nothing(_: Figure, file: Any, *, format: str, **__: Any) -> None:
    """Write an empty picture."""
    file.write("<svg></svg>" if format == "svg" else b"")


@pytest.fixture(scope="module")
def pages(studies: dict[int, Study]) -> dict[int, Page]:
    """Write the page of each study once; of its pictures nothing is read here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", draw_nothing)
        return {
            copies: write_report(gather_findings(study, "made"))
            for copies, study in studies.items()
        }


def list_tables(study: Study, page: Page) -> Iterator[Table]:
    """Every table of the page and of the terminal."""
    for section in page[1]:
        yield from (*section.tables, *section.details)
    yield tabulate_relations("What goes together", relate_people(study), {})
    audit = study.known.audits["first", "expert"]
    view = make_view(gather_findings(study, "made"))
    endings = [end_audit(audit, "", pd.DataFrame()), end_answer(view)]
    told = [part for found in study.known.rulers.values() for part in brief_rulers(found)]
    for compared in study.known.models.values():
        endings.append(end_models(compared, study.metrics))
    for found in study.known.rulers.values():
        endings.append(end_rulers(found, [audit], study.attributes, study.metrics))
    told += [part for ending in endings for part in (*ending.notes, ending.table)]
    yield from (part for part in told if isinstance(part, Table))


def read_cell(cell: str) -> tuple[list[float], list[float]]:
    """Read the p and the widths of the intervals that a cell shows."""
    number = r"[-−]?\d+(?:\.\d+)?(?:e-?\d+)?"
    bounds = re.findall(rf"({number})(?: %)?(?: to |, )({number})", cell)
    p = [float(x) for x in re.findall(r"(?<![\d.\[])[01]\.\d+", cell)]
    return p, [float(b.replace("−", "-")) - float(a.replace("−", "-")) for a, b in bounds]


def test_copies_of_exams_make_nothing_that_is_shown_surer(
    studies: dict[int, Study], pages: dict[int, Page]
) -> None:
    shown_by = [list(list_tables(studies[copies], pages[copies])) for copies in COPIES]
    # numbers of exams stand in captions and headings, and they do grow
    names = [[re.sub(r"\d+", "", table.caption) for table in page] for page in shown_by]
    assert names[0] == names[1]
    shown, surer = 0, []
    for first, second in zip(*shown_by, strict=True):
        assert first.columns == second.columns
        assert len(first.rows) == len(second.rows), first.caption
        for row, again in zip(first.rows, second.rows, strict=True):
            for column, cell, copy in zip(first.columns, row, again, strict=True):
                if OF_EXAMS.search(column):
                    continue
                p, width = read_cell(cell)
                p_again, width_again = read_cell(copy)
                of_p = re.search(r"\bp\b|p of", column) is not None
                pairs = zip(p, p_again, strict=False) if of_p else ()
                less = [(a, b) for a, b in pairs if b < a - SLACK - 0.01]
                if "interval" in column or "[" in cell:
                    less += [
                        (a, b)
                        for a, b in zip(width, width_again, strict=False)
                        if b < a * (1 - SLACK) - 0.011
                    ]
                    shown += len(width)
                shown += len(p) * of_p
                surer += [f"{first.caption}: {column}: {cell} -> {copy}"] * bool(less)
    assert surer == []
    assert shown > 150


def list_sentences(study: Study, page: Page) -> Iterator[str]:
    """Every sentence of the page and of the terminal."""
    headline, sections = page
    yield from (headline.sentence, *headline.remarks)
    for section in sections:
        yield from section.paragraphs
        yield from (table.note for table in (*section.tables, *section.details))
    ending = end_audit(study.known.audits["first", "expert"], "", pd.DataFrame())
    yield from (part for part in (*ending.notes, *ending.lines) if isinstance(part, str))
    yield from tell_rulers(study)


def tell_rulers(study: Study) -> list[str]:
    """Every sentence of the terminal on what the ruler did."""
    told = [part for found in study.known.rulers.values() for part in brief_rulers(found)]
    return [part for part in told if isinstance(part, str)]


def list_surer(once: str, often: str) -> list[tuple[float, float]]:
    """List the p of a text that are smaller in the same text of copies, but those said to be of exams."""
    p = []
    for text in (once, often):
        # what is said of exams says so, up to the end of the clause
        of_patients = re.sub(r"Of exams, as published: [^;]*;", "", text)
        number = r"(\d+(?:\.\d+)?(?:e-\d+)?)"
        found = re.findall(rf"\b(?:p|adjusted) (?:< )?{number}|, {number} under the", of_patients)
        p.append([float(first or second) for first, second in found])
    assert len(p[0]) == len(p[1]) > 5
    return [(a, b) for a, b in zip(*p, strict=True) if b < max(a - SLACK - 0.01, a / 2 - 0.0005)]


def test_copies_of_exams_make_no_sentence_surer(
    studies: dict[int, Study], pages: dict[int, Page]
) -> None:
    said = [" ".join(list_sentences(studies[copies], pages[copies])) for copies in COPIES]
    assert list_surer(*said) == []


@pytest.mark.parametrize("side", ["base", "other"])
def test_a_sentence_with_the_p_of_exams_is_seen(
    studies: dict[int, Study], side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the test of sentences would see nothing."""
    assert list_surer(*(" ".join(tell_rulers(studies[copies])) for copies in COPIES)) == []
    write = rulers._write_figures

    def write_of_exams(row: dict[str, Any], *others: Any) -> str:
        return write({**row, f"p_verdict_fdr_{side}": row[f"p_fdr_{side}"]}, *others)

    monkeypatch.setattr(rulers, "_write_figures", write_of_exams)
    assert list_surer(*(" ".join(tell_rulers(studies[copies])) for copies in COPIES))
