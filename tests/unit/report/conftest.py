"""A small comparison that the report's tests share: two rulers, two groupings, few draws."""

from dataclasses import replace

import pandas as pd
import pytest

from tworulers.battery.audit import AuditResult, audit_scores
from tworulers.cohort.describe import (
    relate_age,
    relate_scanner,
    summarise_ages,
    tabulate_cohort,
)
from tworulers.cohort.grouping import assign_groups
from tworulers.diagnosis.comparison import Audited, Comparison, compare_rulers
from tworulers.report.findings import CohortTables, Findings, RulerChange, ShownAudit, Unjudged
from tworulers.report.words.rulers import put_into_words
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping

TITLES = {"gold": "expert labels", "silver": "the gold model's predictions"}


@pytest.fixture(scope="session")
def quick(paper_audit: Audit) -> Audit:
    draws = {"bootstrap_draws": 100, "permutations": 50, "power_draws": 40}
    return replace(paper_audit, linear_terms=["sex", "age"], **draws)


@pytest.fixture(scope="session")
def attributes(paper_groupings: dict[str, Grouping]) -> Attributes:
    chosen = {name: paper_groupings[name] for name in ("sex", "age_3bin")}
    return Attributes("few", "Sex and age", "exam", chosen)


@pytest.fixture(scope="session")
def exam_groups(e2_table: pd.DataFrame, attributes: Attributes) -> pd.DataFrame:
    chosen = attributes.groupings
    return pd.DataFrame({name: assign_groups(e2_table, g, chosen) for name, g in chosen.items()})


@pytest.fixture(scope="session")
def few_scores(e2_scores: dict[str, pd.DataFrame]) -> dict[str, pd.DataFrame]:
    """Macro Dice and HD95 and the Dice of discs, under both rulers."""
    return {
        ruler: scores[
            ((scores["structure"] == "macro") & scores["metric"].isin(["dice", "hd95"]))
            | ((scores["structure"] == "disc") & (scores["metric"] == "dice"))
        ].assign(regime="mix")
        for ruler, scores in e2_scores.items()
    }


def run_audit(
    scores: pd.DataFrame, table: pd.DataFrame, groups: pd.DataFrame, quick: Audit, named: Attributes
) -> AuditResult:
    exams = table.set_index("exam_id")
    return audit_scores(scores, groups, exams["patient_id"], quick, named, exams[["age"]])


@pytest.fixture(scope="session")
def audits(
    few_scores: dict[str, pd.DataFrame],
    e2_table: pd.DataFrame,
    exam_groups: pd.DataFrame,
    quick: Audit,
    attributes: Attributes,
) -> dict[str, ShownAudit]:
    return {
        ruler: ShownAudit(
            run_audit(scores, e2_table, exam_groups, quick, attributes), TITLES[ruler], scores
        )
        for ruler, scores in few_scores.items()
    }


@pytest.fixture(scope="session")
def comparison(
    audits: dict[str, ShownAudit], exam_groups: pd.DataFrame, quick: Audit
) -> Comparison:
    base, other = (
        Audited(one.scores, one.result.tests, one.result.disparities) for one in audits.values()
    )
    return put_into_words(compare_rulers(base, other, exam_groups, quick))


@pytest.fixture(scope="session")
def cohort_tables(e2_table: pd.DataFrame, exam_groups: pd.DataFrame) -> CohortTables:
    cohort = e2_table.assign(provenance="gold", manufacturer=["GE", "Siemens"] * 38)
    groups = {str(name): exam_groups[name] for name in exam_groups}
    volumes = pd.concat(
        cohort[["exam_id"]].assign(structure=name, volume_mm3=20_000.0 + 10 * cohort.index)
        for name in ("vb", "disc")
    )
    relations = [relate_scanner(cohort, groups), relate_age(cohort, groups)]
    return CohortTables(
        counts=tabulate_cohort(cohort, groups),
        ages=summarise_ages(cohort),
        relations=pd.concat(relations, ignore_index=True),
        exclusions=pd.DataFrame({"exam_id": ["E999"], "reason": ["localizer"]}),
        volumes=volumes,
        volumes_ruler="gold: expert labels (provenance gold)",
    )


@pytest.fixture(scope="session")
def findings(
    audits: dict[str, ShownAudit],
    comparison: Comparison,
    exam_groups: pd.DataFrame,
    cohort_tables: CohortTables,
) -> Findings:
    return Findings(
        dataset="Simulated exams",
        teacher="gold",
        attributes="Sex and age",
        audits={("mix", ruler): one for ruler, one in audits.items()},
        unjudged=[Unjudged("gold", "silver", TITLES["silver"], "silver", "its own predictions")],
        changes=[RulerChange("mix", "gold", "silver", comparison)],
        groups=exam_groups,
        cohort=cohort_tables,
        commands=[("dvc repro", "the whole line")],
        configuration="audit:\n  alpha: 0.05\n",
    )
