"""What a comparison of two models under one ruler lets one say: of the scores, and of the gaps between groups."""

from collections.abc import Mapping
from typing import Any

from tworulers.diagnosis.comparison import RegimeComparison
from tworulers.report.tables import write_count
from tworulers.schema.metric import Metric
from tworulers.schema.tables import list_rows

Row = dict[str, Any]


def say_models(found: RegimeComparison, metrics: Mapping[str, Metric]) -> list[str]:
    """Say by how much the second model scores higher than the first, and what became of each gap.

    Parameters
    ----------
    found : the comparison.
    metrics : declarations of the metrics, by name.
    """
    first, second = found.summary["base_regime"], found.summary["other_regime"]
    told = []
    for row in list_rows(found.differences):
        metric = metrics[row["metric"]]
        mean = metric.write_difference(row["mean"])
        told.append(
            f"{metric.name_of(row['structure'])}: {second} minus {first} is {mean} on average"
            f"{_bound(row, 'mean', metric)}, exam by exam."
        )
    for row in list_rows(found.gaps):
        metric = metrics[row["metric"]]
        about = f"{row['grouping']}, {metric.name_of(row['structure'])}"
        if row["change"] == "undefined":
            told.append(f"{about}: {row['undefined_because']}.")
            continue
        sides = [metric.write_difference(row[f"gap_{side}"]) for side in ("base", "other")]
        told.append(
            f"{about}: group medians lie {sides[0]} apart under {first} and {sides[1]} under {second}; "
            f"{_say_change(row, metric, first, second)}."
        )
    return told


def say_gaps(found: RegimeComparison, metrics: Mapping[str, Metric], key: tuple[str, str]) -> str:
    """Say in a sentence by how much the second model scores higher in one score, and what became of all gaps."""
    first, second = found.summary["base_regime"], found.summary["other_regime"]
    rows = {(row["metric"], row["structure"]): row for row in list_rows(found.differences)}
    said = []
    if key in rows:
        metric, row = metrics[key[0]], rows[key]
        said.append(
            f"{metric.name_of(key[1])} of {second} minus {first} is {metric.write_difference(row['mean'])} on average"
            f"{_bound(row, 'mean', metric)}, exam by exam"
        )
    if len(found.gaps):
        counts = found.gaps["change"].value_counts()
        wider, narrower = int(counts.get("wider", 0)), int(counts.get("narrower", 0))
        said.append(
            f"of {write_count(len(found.gaps), 'gap')} between groups {wider or 'none'} grew and {narrower or 'none'} "
            "shrank; of the others no change is shown, which is no proof that there is none"
        )
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}."


def describe_gap(row: Row | None, metric: Metric, first: str, second: str) -> tuple[str, str, str]:
    """Say in a title, a reason and a tone what became of one gap."""
    if row is None or row["change"] == "undefined":
        return "Not compared", "" if row is None else str(row["undefined_because"]), "mute"
    why = _say_change(row, metric, first, second)
    if row["change"] == "no clear change":
        return "No clear change", why, "calm"
    return f"Gap {row['change']}", why, "loud"


def _say_change(row: Row, metric: Metric, first: str, second: str) -> str:
    """Say what became of a gap; where that is not clear, with the interval that leaves it open."""
    if row["change"] != "no clear change":
        word = "grew" if row["change"] == "wider" else "shrank"
        return f"the gap {word}{_bound(row, 'gap_change', metric)}"
    if row["gap_change_low"] <= 0 <= row["gap_change_high"]:
        return f"no clear change{_bound(row, 'gap_change', metric)}"
    name, side = ("growth", second) if row["gap_change_low"] > 0 else ("shrinkage", first)
    pair = f"between the best and the worst group under {side}"
    return f"no clear change {pair}{_bound(row, name, metric)}"


def _bound(row: Row, name: str, metric: Metric) -> str:
    """Write the interval of a difference; nothing where there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low != low or high != high:
        return ""
    return f" [{metric.write_difference(low)} to {metric.write_difference(high)}]"
