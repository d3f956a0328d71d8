"""The answer of the report in a few sentences, each only as strong as what was found."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tworulers.report.audit_tables import name_titles
from tworulers.report.gallery import ShownAudit, pick_score
from tworulers.report.page import OWN_PREDICTIONS, Headline, RulerChange, Unjudged
from tworulers.report.patient_words import tell_patients
from tworulers.report.rows import find_row
from tworulers.report.style import name_ruler, name_score, write_difference
from tworulers.report.tables import write_count, write_value
from tworulers.report.verdict_words import (
    MEANINGS,
    TITLES,
    pick_flip,
    tell_at_a_glance,
    write_sentence,
)
from tworulers.stats.battery import EXTRA, RANDOM
from tworulers.stats.clearest import shown_p

FLIPS = ("other_only", "base_only")


def write_headline(
    judged: list[ShownAudit],
    change: RulerChange | None,
    grouping: str,
    others: Sequence[ShownAudit] = (),
    unjudged: Sequence[Unjudged] = (),
) -> Headline:
    """Write the question, the answer and the remarks beside it.

    Parameters
    ----------
    judged : the audit by the ruler compared with and, where there is one, by the other.
    change : what lies between them, or None.
    grouping : the grouping that the page is about.
    others : further audits of the same predictions.
    unjudged : audits without a verdict.
    """
    first = judged[0]
    regime = first.result.regime
    itself = [one for one in unjudged if one.regime == regime and one.reason == OWN_PREDICTIONS]
    if change is None:
        return _write_single(first, others, itself)
    second = judged[1]
    verdicts = change.comparison.verdicts
    verdicts = verdicts[verdicts["family"] != EXTRA]
    rows = tell_at_a_glance(
        first.result.groupings,
        first.result.tests,
        second.result.tests,
        verdicts,
        first.result.metrics,
    )
    found = [int(keep_stated(one.result.tests)["significant"].sum()) for one in judged]
    sizes = [_family_size(one) for one in judged]
    sentence = join_sentences(
        tell_patients(judged, others),
        f"Judged by {first.ruler}, {_count_found(found[0], sizes[0])}; judged by {second.ruler}, "
        f"{_count_found(found[1], sizes[1])}.",
        tell_mechanism(second, change),
        tell_unjudged(itself),
    )
    return Headline(
        question=(
            f"Does the {regime} model serve patient groups equally, and would the answer be the "
            f"same if someone else had drawn the labels? "
            f"{write_count(first.result.n_exams, 'exam')} of "
            f"{write_count(first.result.n_patients, 'patient')}, judged by {first.name} and by "
            f"{second.name}."
        ),
        sentence=sentence,
        remarks=tuple(_remark(first, second, change, grouping)),
        base=first.name,
        other=second.name,
        rows=tuple(rows),
    )


def tell_unjudged(itself: Sequence[Unjudged]) -> str:
    """Name the references that are the predictions themselves."""
    names = [name_ruler(one.ruler, one.title, one.provenance) for one in itself]
    return " ".join(f"The reference {name} is {OWN_PREDICTIONS}." for name in names)


def join_sentences(*sentences: str) -> str:
    """Join what there is to say."""
    return " ".join(filter(None, sentences))


def keep_stated(table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the stated families: no further scores, and random groups only if alone."""
    meant = table[~table["family"].isin([EXTRA, RANDOM])]
    return meant if len(meant) else table[table["family"] != EXTRA]


def tell_exams(summary: Mapping[str, Any]) -> str:
    """Say over how many exams two rulers were compared, where one of them judged more."""
    sides = ("base", "other")
    left_out = [(summary.get(f"left_out_{side}", 0), summary[f"{side}_ruler"]) for side in sides]
    beyond = " and ".join(f"{n} more of {ruler}" for n, ruler in left_out if n)
    if not beyond:
        return ""
    return f"Compared over the {summary['n_exams']} exams that both judged; {beyond} left out."


def tell_mechanism(second: ShownAudit, change: RulerChange) -> str:
    """Say how many conclusions changed with the ruler, and what made them change."""
    verdicts = keep_stated(change.comparison.verdicts)
    flips = verdicts[verdicts["flip"].isin(FLIPS)]
    if flips.empty:
        return "No conclusion changed with the ruler."
    named = "; ".join(
        f"{TITLES[str(name)].lower()} in {n} ({MEANINGS[str(name)]})".replace(
            "this ruler", f"the {second.ruler} ruler"
        )
        for name, n in flips["verdict"].value_counts().items()
    )
    changed = write_count(len(flips), "conclusion")
    return f"{changed} changed with the ruler and nothing else: {named}."


def tell_inflation(first: ShownAudit, second: ShownAudit, change: RulerChange) -> str:
    """Say how much better the model looks under the second ruler, and how much tighter."""
    metric, structure = pick_score(first.result)
    row = find_row(change.comparison.inflation, metric=metric, structure=structure)
    known = first.metric(metric)
    label = name_score(known, structure)
    if row is None:
        return f"{label} was not compared."
    means = [write_value(mean, known) for mean in (row.mean_base, row.mean_other)]
    text = (
        f"Mean {label} is {means[0]} by {first.ruler} and {means[1]} by {second.ruler}, "
        f"{write_difference(abs(row.mean), known)} "
        f"{'higher' if row.mean > 0 else 'lower'}"
    )
    if not known.higher_is_better and row.mean:
        text += f" ({'worse' if row.mean > 0 else 'better'})"
    share = row.forgiven_share
    if share == share and share > 0:
        text += (
            f": the {second.ruler} ruler forgives {100 * share:.0f} % of what the {first.ruler} "
            "ruler holds against the model"
        )
    return text + "."


def _remark_on_flips(verdicts: pd.DataFrame, alpha: float) -> list[str]:
    """Say how much of the changed conclusions the correction, or chance, could have made."""
    flips = verdicts[verdicts["flip"].isin(FLIPS)]
    if flips.empty:
        return []
    own = int(flips["made_by_correction"].eq(True).sum())
    beyond = int((flips["swap_p_fdr"] < alpha).sum())
    return [
        f"Of {write_count(len(flips), 'changed conclusion')}, the correction over the family made "
        f"{own or 'none'} (where the test's own p alone, the rest of the family kept, does not cross "
        "the level). "
        f"The change of the statistic itself is beyond chance in {beyond or 'none'}, by exchanging "
        "the rulers exam by exam (patient by patient where one has several), adjusted over the "
        "family."
    ]


def _remark(first: ShownAudit, second: ShownAudit, change: RulerChange, grouping: str) -> list[str]:
    """Say what has to be known beside the answer: clearest flip, inflation, closeness, power."""
    comparison = change.comparison
    titles = name_titles(first.result)
    remarks = [text] if (text := tell_exams(comparison.summary)) else []
    mine = comparison.verdicts[comparison.verdicts["grouping"] == grouping]
    flip = pick_flip(mine, pick_score(first.result))
    if flip is not None and flip["sentence"]:
        remarks.append(write_sentence(str(flip["sentence"]), titles))
    remarks += _remark_on_flips(keep_stated(comparison.verdicts), first.result.settings.alpha)
    remarks.append(tell_inflation(first, second, change))
    status = str(comparison.summary.get("status", "unknown"))
    if status in ("too_close", "identical"):
        remarks.append(
            f"The ruler {second.name} is {status.replace('_', ' ')} to the model it judges: "
            "where it finds nothing, it confirms nothing, and no verdict on fairness may rest "
            "on it."
        )
    remarks += [*_remark_on_chance([first, second]), *_remark_on_size(first)]
    return remarks


def _remark_on_chance(judged: list[ShownAudit]) -> list[str]:
    """Say what was found in random groups, which is what chance alone finds."""
    found = []
    for one in judged:
        tests = one.result.tests[one.result.tests["family"] == RANDOM]
        if len(tests):
            raw = int((shown_p(tests) < one.result.settings.alpha).sum())
            found.append(
                f"{one.ruler} finds a difference in {int(tests['significant'].sum())} of {len(tests)} "
                f"tests ({raw} before adjustment)"
            )
    return [f"In random groups, which mean nothing, {'; '.join(found)}."] if found else []


def _remark_on_size(judged: ShownAudit) -> list[str]:
    """Say how large a gap could have been missed, and which groups are too small to judge."""
    metric, structure = pick_score(judged.result)
    power = judged.result.power
    remarks = []
    if len(power):
        rows = power[
            (power["metric"] == metric)
            & (power["structure"] == structure)
            & (power["correction"] == "family")
        ]
        gaps = rows["detectable_gap"].dropna()
        if len(gaps):
            known = judged.metric(metric)
            low, high = (write_difference(float(gap), known) for gap in (gaps.min(), gaps.max()))
            size = low if low == high else f"{low} to {high}, depending on the grouping,"
            remarks.append(
                f"Where {judged.ruler} finds no difference, gaps of "
                f"{name_score(known, structure)} below {size} would probably have been missed: "
                "no difference found is not equality."
                + " Patients have several exams, so that wider ones are missed, too."
                * judged.result.by_patient
            )
    small = [
        f"{row['title']}: {text}"
        for row in judged.result.groupings.to_dict("records")
        for text in (row["small_groups"], row["not_assessed"])
        if text
    ]
    if small:
        remarks.append(f"Too small for a verdict: {'; '.join(small)}.")
    return remarks


def _write_single(
    judged: ShownAudit, others: Sequence[ShownAudit], itself: Sequence[Unjudged]
) -> Headline:
    tests = judged.result.tests
    found = int(keep_stated(tests)["significant"].sum())
    rows = tell_at_a_glance(
        judged.result.groupings,
        tests,
        tests,
        tests.assign(verdict="undefined").head(0),
        judged.result.metrics,
    )
    return Headline(
        question=(
            f"Does the {judged.result.regime} model serve patient groups equally? "
            f"{write_count(judged.result.n_exams, 'exam')}, judged by {judged.name}."
        ),
        sentence=join_sentences(
            tell_patients([judged], others),
            f"Judged by {judged.ruler}, {_count_found(found, _family_size(judged))}.",
            tell_unjudged(itself),
            f"There is {'no other' if itself else 'one'} ruler {'to compare with' if itself else 'only'}"
            ", so nothing can be said about what the ruler itself did.",
        ),
        remarks=(*_remark_on_chance([judged]), *_remark_on_size(judged)),
        base=judged.name,
        rows=tuple(rows),
    )


def _family_size(judged: ShownAudit) -> int:
    return int(keep_stated(judged.result.families)["size"].sum())


def _count_found(found: int, size: int) -> str:
    if size == 0:
        return "no test could be computed"
    verb = "find" if found > 1 else "finds"
    return f"{found if found else 'none'} of {write_count(size, 'test')} {verb} a difference"
