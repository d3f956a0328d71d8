"""What each verdict on a ruler means, in words that never say more than was found."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tworulers.report.rows import iterate_rows
from tworulers.report.style import name_score
from tworulers.report.tables import write_count, write_p
from tworulers.schema import Metric
from tworulers.stats.battery import EXTRA
from tworulers.stats.clearest import find_clearest, shown_p
from tworulers.tables import unpack_names

TITLES: Mapping[str, str] = {
    "false_confidence": "False confidence",
    "false_magnitude": "False magnitude",
    "mixed": "Mixed",
    "unattributed": "Unattributed",
    "not_shown": "Not shown",
    "false_reassurance_by_magnitude": "False reassurance, by magnitude",
    "false_reassurance_by_noise": "False reassurance, by noise",
    "exaggerated": "Exaggerated",
    "understated": "Understated",
    "stable": "Same conclusion",
    "too_close": "Ruler too close",
    "undefined": "Not judged",
}

MEANINGS: Mapping[str, str] = {
    "false_confidence": "the scores spread less under this ruler, so a gap that is no wider becomes"
    " significant",
    "false_magnitude": "the groups lie further apart under this ruler",
    "mixed": "the scores spread less and the groups lie further apart under this ruler",
    "unattributed": "the two rulers fall on different sides of the level, and neither gap nor noise"
    " changed by more than chance",
    "not_shown": "the two rulers fall on different sides of the level, but that this ruler made the"
    " change, or a false one, is not shown: the correction made it, the change of the test is within"
    " chance, or its labels are declared to be experts' or the truth",
    "false_reassurance_by_magnitude": "the groups lie closer together under this ruler, and a"
    " difference is no longer found",
    "false_reassurance_by_noise": "the scores spread more under this ruler, and a difference is no"
    " longer found",
    "exaggerated": "both find a difference; it is larger under this ruler",
    "understated": "both find a difference; it is smaller under this ruler",
    "stable": "both rulers show a difference, or neither does, which is no sign of equality",
    "too_close": "this ruler repeats the model, so its agreement confirms nothing",
    "undefined": "a test could not be computed, or a group is too small for a verdict",
}

TONES: Mapping[str, str] = {"stable": "calm", "undefined": "mute", "too_close": "mute"}


@dataclass(frozen=True)
class Glance:
    """One grouping in one line: what each ruler found, and what changing the ruler did.

    `tone` is `loud` (a conclusion changed), `calm` or `mute` (nothing can be said).
    """

    grouping: str
    title: str
    sizes: str
    base: str
    other: str
    verdict: str
    why: str
    tone: str


def describe_finding(tests: pd.DataFrame, metrics: Mapping[str, Metric]) -> str:
    """Say what the tests of one grouping found; never that groups are equal."""
    done = tests[tests["p_verdict_fdr"].notna()]
    first = find_clearest(done)
    if first is None:
        reasons = tests["verdict_undefined_because"].dropna().unique()
        return "not tested" + (f": {reasons[0]}" if len(reasons) else "")
    found = int(done["significant"].sum())
    where = name_score(metrics[first["metric"]], first["structure"])
    smallest, adjusted = write_p(shown_p(done).min()), write_p(first["p_verdict_fdr"])
    least = f"smallest p {smallest}, adjusted {adjusted} ({where})"
    if first["verdict_by"] == "patient":
        least += ", patients kept together"
    if found == 0:
        return f"no difference found in {write_count(len(done), 'score')}; {least}"
    worst = first["worst_group"]
    worse = f", worst for {worst}" if isinstance(worst, str) else ""
    return f"difference in {found} of {write_count(len(done), 'score')}{worse}; {least}"


def describe_change(verdicts: pd.DataFrame) -> tuple[str, str, str]:
    """Say in a title, a reason and a tone what changing the ruler did to one grouping."""
    counts = verdicts["verdict"].value_counts()
    changed = [name for name in counts.index if name not in TONES]
    if not changed:
        # The most telling of the quiet verdicts stands for the grouping.
        name = next((n for n in ("too_close", "stable") if n in counts.index), "undefined")
        reasons = verdicts["undefined_because"].dropna().unique()
        why = str(reasons[0]) if name == "undefined" and len(reasons) else MEANINGS[name]
        return TITLES[name], why, TONES[name]
    titles = "; ".join(
        f"{TITLES.get(name, name)} in {write_count(int(counts[name]), 'score')}" for name in changed
    )
    why = "; ".join(MEANINGS.get(name, "") for name in changed)
    return titles, why, "mute" if changed == ["not_shown"] else "loud"


def pick_flip(verdicts: pd.DataFrame, preferred: tuple[str, str] | None = None) -> pd.Series | None:
    """Pick the test of a grouping whose change of conclusion is clearest, or None where none is.

    Parameters
    ----------
    verdicts : on the tests of one grouping.
    preferred : the (metric, structure) that is picked if its own conclusion changed.
    """
    flips = verdicts[verdicts["flip"].isin(["other_only", "base_only"])]
    flips = flips[flips["verdict"] != "undefined"]
    if flips.empty:
        return None
    if preferred is not None:
        first = (flips["metric"] == preferred[0]) & (flips["structure"] == preferred[1])
        if first.any():
            return flips[first].iloc[0]
    clearest = flips[["p_verdict_fdr_base", "p_verdict_fdr_other"]].min(axis=1).to_numpy().argmin()
    return flips.iloc[int(clearest)]


def tell_at_a_glance(
    groupings: pd.DataFrame,
    base: pd.DataFrame,
    other: pd.DataFrame,
    verdicts: pd.DataFrame,
    metrics: Mapping[str, Metric],
) -> list[Glance]:
    """Say for every grouping what each of two rulers found and what the change did.

    Parameters
    ----------
    groupings : the groupings of the base audit: `grouping`, `title`, `groups`.
    base, other : the tests of both audits.
    verdicts : of their comparison.
    metrics : declarations of the metrics, by name.
    """
    rows = []
    for grouping in iterate_rows(groupings):
        mine = [
            table[(table["grouping"] == grouping.grouping) & (table["family"] != EXTRA)]
            for table in (base, other)
        ]
        judged = verdicts[verdicts["grouping"] == grouping.grouping]
        title, why, tone = describe_change(judged)
        first, second = (describe_finding(table, metrics) for table in mine)
        rows.append(
            Glance(
                grouping.grouping,
                grouping.title,
                ", ".join(unpack_names(grouping.groups)),
                first,
                second,
                title,
                why,
                tone,
            )
        )
    return rows


def write_sentence(sentence: str, titles: Mapping[str, str]) -> str:
    """Put the title of a grouping for its name at the start of a verdict's sentence."""
    name, comma, rest = sentence.partition(",")
    return f"{titles.get(name, name)}{comma}{rest}"
