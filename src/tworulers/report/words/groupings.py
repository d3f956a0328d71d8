"""What an audit lets one say about each grouping, in plain sentences that name the ruler."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tworulers.battery.audit import AuditResult
from tworulers.battery.clearest import find_clearest, shown_p
from tworulers.battery.questions import PRIMARY
from tworulers.report.tables import write_count
from tworulers.report.words.adjusted import or_in_spread
from tworulers.schema.settings import MACRO, Provenance
from tworulers.schema.tables import list_rows, unpack_names

DRAWN_BY: Mapping[str, str] = {
    Provenance.GOLD: "drawn by experts",
    Provenance.SILVER: "drawn by a machine",
    Provenance.MIXED: "some drawn by experts, some by a machine",
    Provenance.TRUTH: "the noise-free truth of a synthetic cohort",
    Provenance.BIASED: "distorted on purpose",
}

Row = dict[str, Any]

DIFFERENCE, NOT_SHOWN, TOO_FEW = "difference", "not shown", "too few"


def verdict_sentences(
    result: AuditResult, ruler_title: str, provenance: str, corrected_from: str = ""
) -> pd.DataFrame:
    """Say for each grouping and family whether groups differ by this ruler, or what could have been found.

    `fair` is never said: where nothing was found the sentence gives the smallest gap that would
    have been, and groups too small for a verdict are named.

    Parameters
    ----------
    result : the audit.
    ruler_title : what the ruler is called in a sentence.
    provenance : of the ruler's labels; a verdict without it cannot be made.
    corrected_from : the reference whose labels were corrected to make these; empty where they were drawn anew.

    Returns
    -------
    One row a grouping and family: grouping, title, family, verdict (`difference`, `not shown`, `too few`),
    provenance, sentence.

    Raises
    ------
    ValueError : where the provenance is not one we know, or not the one that was audited.
    """
    if provenance not in DRAWN_BY:
        known = ", ".join(DRAWN_BY)
        raise ValueError(f"provenance of the ruler is {provenance!r}, expected one of {known}")
    if provenance != result.provenance:
        raise ValueError(
            f"the audit was made with {result.provenance} references, not {provenance} ones"
        )
    made = f", corrected from {corrected_from}" if corrected_from else ""
    judge = f"Judged by {ruler_title} ({provenance}: {DRAWN_BY[provenance]}{made})"
    rows = []
    for row in list_rows(result.groupings):
        verdict, body = _judge(result, row)
        parts = [f"{name_row(row)}. {judge}: {body}", *_add_rates(result, row), *_add_limits(row)]
        rows.append(
            {
                "grouping": row["grouping"],
                "title": row["title"],
                "family": row["family"],
                "verdict": verdict,
                "provenance": provenance,
                "sentence": " ".join(parts),
            }
        )
    return pd.DataFrame(rows)


def name_row(row: Row) -> str:
    """Name a grouping with its family where that is not the main one of all: `Sex (primary)`."""
    return f"{row['title']} (primary)" if row["family"] == PRIMARY else str(row["title"])


def _judge(result: AuditResult, row: Row) -> tuple[str, str]:
    """Choose the verdict and say it."""
    least = result.settings.min_group
    tests = result.tests[result.tests["grouping"] == row["grouping"]]
    tests = tests[tests["family"] == row["family"]]
    if row["n_large_groups"] < 2 or not row["tests_computed"]:
        sizes = ", ".join(unpack_names(row["groups"]))
        reasons = tests["verdict_undefined_because"].dropna()
        if row["n_large_groups"] >= 2 and len(reasons):
            return TOO_FEW, f"no verdict; {reasons.iloc[0]} ({sizes})."
        return TOO_FEW, (
            f"no verdict, since fewer than two groups have at least {least} exams ({sizes})."
        )
    family = result.families[result.families["family"] == row["family"]]
    over = write_count(int(family["size"].iloc[0]), "test")
    scores = write_count(row["tests_computed"], "score")
    first = find_clearest(tests)
    if row["significant"] and first is not None:
        name = _name_score(result, first)
        gap = result.metrics[first["metric"]].write_difference(first["median_gap"])
        spread = or_in_spread(first["unequal_spread"])
        return DIFFERENCE, (
            f"groups differ in {row['significant']} of {scores} after "
            f"correction over {over}. Clearest in {name}{spread}: best {first['best_group']}, worst "
            f"{first['worst_group']}, medians {gap} apart, p {shown_p(tests).min():.2g}, adjusted "
            f"{first['p_verdict_fdr']:.2g}{_say_whose_p(result)}."
        )
    raw = row["significant_raw"]
    before = f" ({raw} before correction)" if raw else ""
    return NOT_SHOWN, (
        f"no difference was shown in {scores} after correction over {over}{before}; "
        f"smallest adjusted p {row['smallest_p_fdr']:.2g}{_say_whose_p(result)}. "
        + _say_power(result, row)
    )


def _say_power(result: AuditResult, row: Row) -> str:
    """Say which gap would have been found, so that few exams are not read as equality."""
    mine = result.tests[result.tests["family"] == row["family"]]
    power = result.power.merge(mine[["grouping", "structure", "metric"]])
    power = power[power["grouping"] == row["grouping"]]
    if power.empty:
        return "What gap would have been found was not computed, so this is no sign of equality."
    macro = power[power["structure"] == MACRO]
    power = macro if len(macro) else power
    of_metric = list_rows(power[power["metric"] == power["metric"].iloc[0]])
    gaps = {row["correction"]: row["detectable_gap"] for row in of_metric}
    name, metric = _name_score(result, of_metric[0]), result.metrics[of_metric[0]["metric"]]
    plain, corrected = gaps["none"], gaps["family"]
    if not np.isfinite(plain):
        reason = of_metric[0]["undefined_because"]
        return f"This says nothing about equality: in {name}, {reason}."
    text = (
        f"With these exams a gap of {metric.write_difference(plain)} in {name} would have been "
        "found in 80 % of studies by a single test"
    )
    if np.isfinite(corrected):
        text += f", and one of {metric.write_difference(corrected)} under the strictest correction"
    if np.isfinite(gaps.get("all", np.nan)):
        text += f" (of {metric.write_difference(gaps['all'])} over all tests, primary or not)"
    return text + "; smaller gaps would mostly have been missed."


def _say_whose_p(result: AuditResult) -> str:
    """Say that patients were kept together, where one has several exams."""
    if not result.by_patient:
        return ""
    return (
        f" (permutation of {result.n_patients} patients, each patient's exams kept together; p of "
        "exams stand in the tables)"
    )


def _add_rates(result: AuditResult, row: Row) -> list[str]:
    """Say which success rates break the four-fifths rule, or say nothing because all succeed."""
    table = result.disparities
    table = table[(table["grouping"] == row["grouping"]) & (table["family"] == row["family"])]
    table = table[table["primary"].astype(bool)]
    if table.empty:
        return []
    low = table[table["below_four_fifths"].astype(bool)]
    if len(low):
        worst = list_rows(low.nsmallest(1, "dir"))[0]
        return [
            f"Success rates break the four-fifths rule in {len(low)} of {write_count(len(table), 'score')}, "
            f"most in {_name_score(result, worst)}: {_list_counts(result, worst)}; ratio "
            f"{worst['dir']:.2f}."
        ]
    if table["saturated"].all():
        return ["Every exam succeeds in every score, so success rates say nothing here."]
    defined = table[table["dir"].notna()]
    if defined.empty:
        reasons = ", ".join(dict.fromkeys(table["undefined_because"].dropna()))
        return [f"The ratio of success rates is undefined: {reasons}."]
    worst = list_rows(defined.nsmallest(1, "dir"))[0]
    return [
        f"The lowest ratio of success rates is {worst['dir']:.2f} in {_name_score(result, worst)}: "
        f"{_list_counts(result, worst)}."
    ]


def _add_limits(row: Row) -> list[str]:
    """Name groups and exams that the verdict does not cover."""
    parts = []
    if row["small_groups"]:
        parts.append(f"Tested but too few for a verdict on them: {row['small_groups']}.")
    if row["not_assessed"]:
        parts.append(f"Not assessed: {row['not_assessed']}.")
    if row["n_left_out"]:
        plural = "exam" if row["n_left_out"] == 1 else "exams"
        parts.append(f"In no group: {row['n_left_out']} {plural}.")
    return parts


def _list_counts(result: AuditResult, row: Row) -> str:
    """Write each group with its successes of n."""
    table = result.rates[result.rates["primary"].astype(bool) & (result.rates["n"] > 0)]
    for name in ("grouping", "structure", "metric"):
        table = table[table[name] == row[name]]
    return ", ".join(f"{r['group']} {r['successes']}/{r['n']}" for r in list_rows(table))


def _name_score(result: AuditResult, row: Row) -> str:
    return result.metrics[row["metric"]].name_of(row["structure"])
