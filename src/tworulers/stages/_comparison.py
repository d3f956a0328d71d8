"""What a comparison leaves behind: its tables, what MLflow shows of it, and what a person reads."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tworulers.io.console import say, show_table
from tworulers.io.records import write_json, write_table
from tworulers.report.headline import tell_exams
from tworulers.rulers import Comparison, RegimeComparison
from tworulers.schema import MACRO, Audit
from tworulers.tracking import RunRecord, write_record

COUNTED = {
    "flips": "Conclusions, adjusted p",
    "flips_unadjusted": "Conclusions, raw p",
    "tests_changed": "Tests whose statistic changed with the ruler beyond chance",
    "verdicts": "Verdicts on the change",
    "gap_changes": "Gaps between groups",
}
OF_VERDICT = ("vcr_mad", "gap_ratio", "gap_part", "noise_part", "swap_p", "swap_p_fdr")
CONCERN = (
    "A changed conclusion is about the rulers; what holds for the patients is what the best labels "
    "there are show."
)
OF_GAP = ("gap_base", "gap_other", "gap_change")
OF_SCORE = ("mean", "forgiven_share", "pearson", "spearman")


def keep_to_tests(settings: Audit, patients: pd.Series) -> Audit:
    """Leave out of an audit what a comparison does not read: power, the joint model, permutations.

    Permutations stay where a patient has several exams, since significance rests on them.

    Parameters
    ----------
    settings : of the audit.
    patients : patient of each audited exam.
    """
    permutations = settings.permutations if patients.duplicated().any() else 0
    return replace(settings, permutations=permutations, power_draws=0, linear=False)


def write_comparison(
    found: Comparison | RegimeComparison, folder: Path, name: str
) -> dict[str, float]:
    """Write a comparison's tables, its summary and what MLflow shows of it; return its main counts
    under its name.

    Raises
    ------
    ValueError : another comparison of the same run has this folder: `a_b` with `c`, and `a` with `b_c`.
    """
    if (folder / "summary.json").exists():
        raise ValueError(
            f"two comparisons would be filed as {folder.name!r}: name a regime or ruler otherwise"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for field in fields(found):
        if field.name != "summary":
            write_table(getattr(found, field.name), folder / f"{field.name}.parquet")
    write_json(found.summary, folder / "summary.json")
    counts = count_outcomes(found.summary)
    metrics = counts | collect_metrics(found)
    words = (
        "regime",
        "base_ruler",
        "other_ruler",
        "base_provenance",
        "other_provenance",
        "provenance",
        "base_regime",
        "other_regime",
        "ruler",
        "status",
    )
    tags = {word: str(found.summary[word]) for word in words if word in found.summary}
    *whose, sides = name.split("/")
    title = name_run(found.summary, "".join(whose), sides)
    write_record(
        RunRecord("compare", title, write_note(found.summary), tags, metrics=metrics), folder
    )
    return {f"{name}/{key}": value for key, value in counts.items()}


def name_run(summary: Mapping[str, Any], whose: str, sides: str) -> str:
    """Name a comparison in a list of runs: `rulers · mix: gold, silver`, `regimes · gold, mix by gold`."""
    if "base_regime" in summary:
        sides = f"{summary['base_regime']}, {summary['other_regime']}"
        return f"regimes · {sides} by {summary['ruler']}"
    if "base_ruler" in summary:
        sides = f"{summary['base_ruler']}, {summary['other_ruler']}"
    return f"rulers · {whose}: {sides}" if whose else f"rulers · {sides}"


def write_note(summary: Mapping[str, Any]) -> str:
    """Say in Markdown what was compared and how often what came out, for the page of a run."""
    parts = [describe(summary)]
    for kind, title in COUNTED.items():
        for family, outcomes in summary.get(kind, {}).items():
            if outcomes:
                parts.append(f"- {title}, {family} tests: {_write(outcomes)}")
    if len(parts) > 1:
        parts.insert(1, "")
        parts += ["", CONCERN] * ("base_ruler" in summary)
    return "\n".join(parts)


def count_outcomes(summary: Mapping[str, Any]) -> dict[str, float]:
    """Name the counts of a comparison: flips, verdicts, changed gaps, by family."""
    kinds = (
        *("flips", "flips_unadjusted", "tests_changed"),
        *("verdicts", "gap_changes", "four_fifths_flips"),
    )
    return {
        f"{kind}/{family}/{outcome}": float(n)
        for kind in kinds
        for family, outcomes in summary.get(kind, {}).items()
        for outcome, n in outcomes.items()
    }


def collect_metrics(found: Comparison | RegimeComparison) -> dict[str, float]:
    """Name the figures of a comparison, `dice/macro/age_3bin/gap_ratio`; undefined ones are NaN."""
    names: tuple[str, ...] = OF_GAP
    if isinstance(found, Comparison):
        rows, names, scores = found.verdicts, OF_VERDICT, found.inflation
    else:
        rows, scores = found.gaps, found.differences
    metrics = {}
    for row in scores.to_dict("records"):
        for name in (name for name in OF_SCORE if name in row):
            word = "difference" if name == "mean" else name
            metrics[f"{row['metric']}/{row['structure']}/{word}"] = float(row[name])
    for row in rows.to_dict("records"):
        stem = f"{row['metric']}/{row['structure']}/{row['grouping']}"
        metrics |= {f"{stem}/{name}": float(row.get(name, np.nan)) for name in names}
    return metrics


def describe(summary: Mapping[str, Any]) -> str:
    """Say in a sentence what was compared."""
    if "base_regime" in summary:
        return (
            f"Regimes {summary['base_regime']} and {summary['other_regime']} under the "
            f"{summary['ruler']} ruler (provenance: {summary['provenance']})."
        )
    return (
        f"Predictions of {summary['regime']} under the {summary['base_ruler']} ruler (provenance: "
        f"{summary['base_provenance']}) and the {summary['other_ruler']} ruler (provenance: "
        f"{summary['other_provenance']}), which is {summary['status'].replace('_', ' ')}"
        f"{' to the model' if summary['status'] == 'too_close' else ''}. {tell_exams(summary)}"
    ).rstrip()


def show_rulers(found: Comparison) -> None:
    """Print the flips and verdicts of a comparison of rulers, and the sentences of what flipped."""
    kinds = ("flips", "flips_unadjusted", "verdicts")
    if found.summary["flips"]:
        show_table(
            describe(found.summary),
            ("family", "flips (adjusted)", "flips (raw)", "verdicts"),
            [
                (family, *(_write(found.summary[kind].get(family, {})) for kind in kinds))
                for family in found.summary["flips"]
            ],
        )
    else:
        say(describe(found.summary))
    say(tell_closeness(found))
    if partial := found.summary["macro_partial"]:
        fewer = ", ".join(f"{n} of {name}" for name, n in partial.items())
        say(f"macro scores are over the structures defined on both sides: not all in {fewer}")
    say(tell_changed(found))
    flipped = found.verdicts["flip"].isin(["base_only", "other_only"])
    for sentence in found.verdicts.loc[flipped, "sentence"]:
        say(sentence)


def tell_changed(found: Comparison) -> str:
    """Say in how many tests the change of the ruler changed the test itself, beyond chance."""
    counts = found.summary["tests_changed"].items()
    parts = [f"{n['changed']} of {n['tested']} {family} tests" for family, n in counts]
    return f"changed with the ruler beyond chance: {', '.join(parts) or 'no test'}"


def tell_closeness(found: Comparison) -> str:
    """Say how well model, ruler and expert agree, and what is not known of it."""
    rows = found.closeness.set_index("structure")
    if rows.empty:
        return "closeness of the other ruler: unknown, since no Dice was scored"
    structure = MACRO if MACRO in rows.index else str(rows.index[0])
    row = rows.loc[structure]
    base, other = found.summary["base_ruler"], found.summary["other_ruler"]
    parts = [f"predictions with {base} {row['model_expert']:.4f}"]
    parts += [f"with {other} {row['model_ruler']:.4f}"]
    if np.isfinite(row["ruler_expert"]):
        parts.append(f"{other} with {base} {row['ruler_expert']:.4f}")
    inflation = found.inflation
    dice = (inflation["metric"] == "dice") & (inflation["structure"] == structure)
    scores = inflation[dice].iloc[0]
    parts.append(f"SD over exams {scores['sd_base']:.4f} and {scores['sd_other']:.4f}")
    if np.isfinite(row["vcr_mad"]):
        parts.append(f"spread (MAD) {row['vcr_mad']:.2f} times wider under {base}")
    if np.isfinite(row["forgiven"]):
        interval = f"{100 * row['forgiven_low']:.0f} to {100 * row['forgiven_high']:.0f}"
        parts.append(f"{100 * row['forgiven']:.0f} % of the error forgiven [{interval}]")
    if row["note"]:
        parts.append(str(row["note"]))
    status = str(row["status"]).replace("_", " ")
    return f"mean Dice ({structure}), {row['n']} exams: {', '.join(parts)}: {status}"


def show_regimes(found: RegimeComparison) -> None:
    """Print the flips and the changed gaps of a comparison of regimes."""
    show_table(
        describe(found.summary),
        ("family", "flips (adjusted)", "gaps"),
        [
            (family, _write(outcomes), _write(found.summary["gap_changes"].get(family, {})))
            for family, outcomes in found.summary["flips"].items()
        ],
    )


def _write(outcomes: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in outcomes.items())
