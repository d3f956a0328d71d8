"""What each verdict on a ruler means, in words that never say more than was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from tworulers.battery.clearest import find_clearest, shown_p
from tworulers.battery.questions import EXTRA
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import iterate_rows, keep_rows
from tworulers.report.tables import write_count, write_p
from tworulers.report.words.groupings import name_row
from tworulers.schema.metric import Metric
from tworulers.schema.tables import unpack_names

TITLES: Mapping[str, str] = {
    "false_confidence": "False confidence",
    "false_magnitude": "False magnitude",
    "mixed": "Mixed",
    "false_reassurance_by_magnitude": "False reassurance, by magnitude",
    "false_reassurance_by_noise": "False reassurance, by noise",
    "false_reassurance_by_both": "False reassurance, by noise and magnitude",
    "noise_part_shown": "Noise part shown",
    "gap_part_shown": "Gap part shown",
    "both_parts_shown": "Noise and gap part shown",
    "made_by_correction": "Made by the correction",
    "consistent_with_noise_part": "Consistent with a change of noise, not shown",
    "consistent_with_gap_part": "Consistent with a change of the gap, not shown",
    "consistent_with_both_parts": "Consistent with a change of noise and gap, not shown",
    "unattributed": "Unattributed",
    "exaggerated": "Exaggerated",
    "understated": "Understated",
    "larger_gap": "Larger under this ruler",
    "smaller_gap": "Smaller under this ruler",
    "both_differ": "Both show a difference",
    "neither_shown": "Neither shows a difference",
    "too_close": "Ruler too close",
    "undefined": "Not judged",
}
"""Of verdicts, among which are the names of mechanisms where nothing false may be said."""

OF_RULER = ", and the ruler is known to be a copy of the model or biased"
NOT_FALSE = "; nothing that is known of this ruler calls that false"
WITHIN = ", but the change of the test is within chance"

MEANINGS: Mapping[str, str] = {
    "false_confidence": "the scores spread less under this ruler, so a gap that is no wider becomes"
    " significant" + OF_RULER,
    "false_magnitude": "the groups lie further apart under this ruler" + OF_RULER,
    "mixed": "the scores spread less and the groups lie further apart under this ruler" + OF_RULER,
    "false_reassurance_by_magnitude": "the groups lie closer together under this ruler, and a"
    " difference is no longer found" + OF_RULER,
    "false_reassurance_by_noise": "the scores spread more under this ruler, and a difference is no"
    " longer found" + OF_RULER,
    "false_reassurance_by_both": "the scores spread more and the groups lie closer together under this"
    " ruler, and a difference is no longer found" + OF_RULER,
    "noise_part_shown": "another spread of the scores under this ruler changed the conclusion"
    + NOT_FALSE,
    "gap_part_shown": "another gap under this ruler changed the conclusion" + NOT_FALSE,
    "both_parts_shown": "another spread and another gap under this ruler changed the conclusion"
    + NOT_FALSE,
    "made_by_correction": "the test's own p alone does not change the conclusion; the p of other tests"
    " of the family do",
    "consistent_with_noise_part": "the scores spread more or less under this ruler" + WITHIN,
    "consistent_with_gap_part": "the gap is wider or narrower under this ruler" + WITHIN,
    "consistent_with_both_parts": "spread and gap both changed under this ruler" + WITHIN,
    "unattributed": "the two rulers fall on different sides of the level, and neither gap nor noise"
    " changed by more than chance",
    "exaggerated": "both find a difference; it is larger under this ruler" + OF_RULER,
    "understated": "both find a difference; it is smaller under this ruler" + OF_RULER,
    "larger_gap": "both find a difference; it is larger under this ruler",
    "smaller_gap": "both find a difference; it is smaller under this ruler",
    "both_differ": "both rulers show a difference",
    "neither_shown": "neither ruler shows a difference, which is no sign of equality",
    "too_close": "this ruler is too near to the model to judge it, so its agreement confirms nothing",
    "undefined": "a test could not be computed, or a group is too small for a verdict",
}

FLIPS = ("other_only", "base_only")
"""How tests are called that are significant by one ruler only."""

TONES: Mapping[str, str] = {
    "both_differ": "calm",
    "neither_shown": "calm",
    "too_close": "mute",
    "undefined": "mute",
}

QUIET = (
    *("made_by_correction", "unattributed", "consistent_with_noise_part"),
    *("consistent_with_gap_part", "consistent_with_both_parts"),
)
"""Changes of a conclusion that nothing is shown to have made."""


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
    family: str = ""


def describe_finding(tests: pd.DataFrame, metrics: Mapping[str, Metric]) -> str:
    """Say what the tests of one grouping found; never that groups are equal."""
    done = tests[tests["p_verdict_fdr"].notna()]
    first = find_clearest(done)
    if first is None:
        reasons = tests["verdict_undefined_because"].dropna().unique()
        return "not tested" + (f": {reasons[0]}" if len(reasons) else "")
    found = int(done["significant"].sum())
    where = metrics[first["metric"]].name_of(first["structure"])
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
        name = next(
            (n for n in ("too_close", "both_differ", "neither_shown") if n in counts.index),
            "undefined",
        )
        reasons = verdicts["undefined_because"].dropna().unique()
        why = str(reasons[0]) if name == "undefined" and len(reasons) else MEANINGS[name]
        return TITLES[name], why, TONES[name]
    titles = "; ".join(
        f"{TITLES.get(name, name)} in {write_count(int(counts[name]), 'score')}" for name in changed
    )
    why = "; ".join(MEANINGS.get(name, "") for name in changed)
    return titles, why, "mute" if set(changed) <= set(QUIET) else "loud"


def pick_flip(verdicts: pd.DataFrame, preferred: tuple[str, str] | None = None) -> pd.Series | None:
    """Pick the test of a grouping whose change of conclusion is clearest, or None where none is.

    Parameters
    ----------
    verdicts : on the tests of one grouping.
    preferred : the (metric, structure) that is picked if its own conclusion changed.
    """
    flips = verdicts[verdicts["flip"].isin(FLIPS)]
    flips = flips[flips["verdict"] != "undefined"]
    if flips.empty:
        return None
    if preferred is not None:
        first = (flips["metric"] == preferred[0]) & (flips["structure"] == preferred[1])
        if first.any():
            return flips[first].iloc[0]
    clearest = flips[["p_verdict_fdr_base", "p_verdict_fdr_other"]].min(axis=1).to_numpy().argmin()
    return flips.iloc[int(clearest)]


def tell_at_a_glance(judged: Sequence[ShownAudit], verdicts: pd.DataFrame) -> list[Glance]:
    """Say for every grouping, and for its primary questions apart, what each ruler found and what the change did.

    Parameters
    ----------
    judged : the audits by one ruler, or by two.
    verdicts : of their comparison; without rows of one ruler.
    """
    result, rows = judged[0].result, []
    for grouping in iterate_rows(result.groupings):
        name = grouping.grouping
        tests = [one.result.tests for one in judged]
        whose = {"grouping": name, "family": grouping.family}
        mine = [keep_rows(table[table["family"] != EXTRA], **whose) for table in tests]
        found = [describe_finding(table, result.metrics) for table in mine]
        change = describe_change(keep_rows(verdicts, **whose))
        sizes = ", ".join(unpack_names(grouping.groups))
        title = name_row({"family": grouping.family, "title": grouping.title})
        rows.append(Glance(name, title, sizes, found[0], found[-1], *change, grouping.family))
    return rows


def write_sentence(sentence: str, titles: Mapping[str, str]) -> str:
    """Put the title of a grouping for its name at the start of a verdict's sentence."""
    name, comma, rest = sentence.partition(",")
    return f"{titles.get(name, name)}{comma}{rest}"
