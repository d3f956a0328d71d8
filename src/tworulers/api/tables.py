"""The tables of an audit as the Python door shows them, and what they leave out."""

from typing import Any

import pandas as pd

from tworulers.api.contrasts import DIFFERENCE, EXTREMES
from tworulers.battery.audit import AuditResult
from tworulers.battery.within import ANSWERS
from tworulers.schema.tables import list_rows

KEY = ["grouping", "structure", "metric"]
BOUNDED_BY = {"mean": "bootstrap percentile", "median": "bootstrap percentile", "rate": "Newcombe"}
"""How the interval of a signed difference of two groups is made, by what is contrasted."""

BOUNDED_BY_PATIENT = {
    "mean": "bootstrap percentile, patients drawn whole",
    "median": "bootstrap percentile, patients drawn whole",
    "rate": "Newcombe, effective numbers of exams",
}
"""The same where a patient has several exams."""


def tabulate_groups(found: AuditResult) -> pd.DataFrame:
    """One row a group and score: how many, where the scores lie, and how many succeed at the primary threshold."""
    groups = found.groups[found.groups["status"] != "left out"]
    if found.rates.empty:
        return groups.reset_index(drop=True)
    primary = found.rates[found.rates["primary"].astype(bool)]
    columns = [*KEY, "group", "threshold", "successes", "rate", "rate_low", "rate_high"]
    return groups.merge(primary[columns], on=[*KEY, "group"], how="left")


def tabulate_intervals(found: AuditResult) -> pd.DataFrame:
    """One row a signed difference of two groups, and a row a ratio of the lowest over the highest success rate."""
    pairs = found.differences.rename(columns={"group_b": "group", "group_a": "against"})
    parts = []
    methods = BOUNDED_BY_PATIENT if found.by_patient else BOUNDED_BY
    for of, made_by in methods.items() if len(pairs) else ():
        columns = [f"{of}_difference{end}" for end in ("", "_low", "_high")]
        part = pairs[[*KEY, "group", "against", *columns]].set_axis(
            [*KEY, "group", "against", "value", "low", "high"], axis=1
        )
        parts.append(part.assign(of=of, contrast=DIFFERENCE, interval=made_by))
    if len(found.disparities):
        primary = found.disparities[found.disparities["primary"].astype(bool)]
        columns = [*KEY, "worst_group", "best_group", "dir", "dir_low", "dir_high", "dir_method"]
        names = [*KEY, "group", "against", "value", "low", "high", "interval"]
        ratios = primary[columns].set_axis(names, axis=1)
        parts.append(ratios.assign(of="rate", contrast=EXTREMES))
    columns = [*KEY, "of", "contrast", "group", "against", "value", "low", "high", "interval"]
    if not parts:
        return pd.DataFrame(columns=columns)
    return pd.concat(parts, ignore_index=True)[columns]


def tabulate_summary(found: AuditResult, said: pd.DataFrame) -> pd.DataFrame:
    """One row a grouping and family: what was found, how its tests answered, and where the clearest difference lies."""
    verdicts = said["verdict"].tolist() if len(said) else None
    table = found.groupings.assign(verdict=verdicts)
    columns = ["grouping", "title", "verdict", "n", "n_left_out", "tests_computed", "significant"]
    return table[
        [*columns, *ANSWERS, "smallest_p", "smallest_p_fdr", "small_groups", "not_assessed"]
    ]


def tell_limits(found: AuditResult) -> list[str]:
    """Say what the audit rests on less than it seems to: small groups, exams in none, undefined scores."""
    told = []
    for row in list_rows(found.groupings):
        parts = {
            f"tested, but under {found.settings.min_group} exams": row["small_groups"],
            "not tested": row["not_assessed"],
            "exams in no group": row["n_left_out"],
        }
        told += [f"{row['title']}: {what}: {who}" for what, who in parts.items() if who]
    for row in list_rows(found.overall):
        if row["n_undefined"]:
            score = found.metrics[row["metric"]].name_of(row["structure"])
            told.append(f"{score} is undefined in {row['n_undefined']} of {row['n_exams']} exams")
    return told


def describe_audit(found: AuditResult) -> dict[str, Any]:
    """Return what was asked, and of how many."""
    return {
        "model": found.regime,
        "ruler": found.ruler,
        "provenance": found.provenance,
        "exams": found.n_exams,
        "patients": found.n_patients,
        "resampling_unit": found.resampling_unit,
        "alpha": found.settings.alpha,
        "success": dict(found.settings.thresholds),
        "margin": dict(found.settings.margin),
        "given": list(dict.fromkeys(found.adjusted["given"])),
        "seed": found.settings.seed,
    }
