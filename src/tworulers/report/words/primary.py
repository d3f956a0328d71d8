"""What is said of primary questions that were locked before: which, when, under which hash, and what does not fit."""

import numpy as np

from tworulers.battery.audit import AuditResult
from tworulers.report.tables import write_count
from tworulers.schema.settings import Locked
from tworulers.schema.tables import list_rows

LOCKED_IS_NO_PROOF = (
    "That the questions were locked before any score was read is not proved by a lock; the day on which it was "
    "committed says more."
)
SHOWN = 12
"""Signs of a hash that are shown."""


def list_questions(locked: Locked) -> str:
    """List the questions by score: `3 primary questions (dice/macro by sex, age)`."""
    by_score: dict[str, list[str]] = {}
    for metric, structure, grouping in locked.questions:
        by_score.setdefault(f"{metric}/{structure}", []).append(grouping)
    listed = "; ".join(f"{score} by {', '.join(names)}" for score, names in by_score.items())
    return f"{write_count(len(locked.questions), 'primary question')} ({listed})"


def tell_lock(locked: Locked) -> str:
    """Say which questions are primary, and when and under which hash they were locked; nothing where there are none."""
    if not locked.questions:
        return ""
    when = (
        f"changed since they were locked on {locked.date}"
        if locked.changed
        else f"locked on {locked.date}"
    )
    return f"{list_questions(locked)}, {when}, SHA-256 {locked.sha256[:SHOWN]}"


def list_mismatches(locked: Locked) -> list[str]:
    """Say what was changed after the lock, and that audits of the same result asked something else before."""
    found = []
    if locked.changed:
        found.append(f"the primary questions are not as locked on {locked.date}: {locked.changed}")
    if locked.earlier:
        before = (
            f"with those of SHA-256 {one[:SHOWN]}" if one else "with none" for one in locked.earlier
        )
        found.append(
            f"the same scores were audited before with other primary questions: {', '.join(before)}"
        )
    return found


def tag_lock(locked: Locked) -> dict[str, str]:
    """Return the tags of a run with primary questions: their lock, and what does not fit; none where there are none."""
    if not locked.questions:
        return {}
    mismatch = "; ".join(list_mismatches(locked))
    return {"primary": tell_lock(locked)} | ({"primary_mismatch": mismatch} if mismatch else {})


def remark_on_lock(locked: Locked) -> list[str]:
    """Say in sentences, for a page, what is primary and what does not fit; nothing where nothing is primary."""
    if not locked.questions:
        return []
    told = [tell_lock(locked), *list_mismatches(locked)]
    sentences = [f"{one[:1].upper()}{one[1:]}." for one in told]
    return [" ".join([*sentences, "All other tests are secondary.", LOCKED_IS_NO_PROOF])]


def remark_on_gain(result: AuditResult) -> list[str]:
    """Say what asking few questions gains: the gap that could have been found over them, and over all stated tests."""
    gaps: dict[tuple[str, str, str], dict[str, str]] = {}
    alpha = result.settings.alpha
    for row in list_rows(result.power):
        if np.isfinite(row["detectable_gap"]):
            gap = result.metrics[row["metric"]].write_difference(row["detectable_gap"])
            asked = gaps.setdefault((row["metric"], row["structure"], row["grouping"]), {})
            asked[row["correction"]] = f"{gap} at {alpha:g}/{round(alpha / row['alpha'])}"
    titles = dict(zip(result.groupings["grouping"], result.groupings["title"], strict=True))
    told = [
        f"{result.metrics[metric].name_of(structure)} by {titles[grouping]}: {asked['family']}, {asked['all']}"
        for (metric, structure, grouping), asked in gaps.items()
        if {"family", "all"} <= set(asked)
    ]
    if not told:
        return []
    return [
        "Gaps that would have been found with 80 % power where a primary question found none, over the primary "
        f"questions and over all tests: {'; '.join(told)}."
    ]
