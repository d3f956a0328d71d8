"""What the best labels there are say of the patients, before anything is said of a ruler."""

from collections.abc import Sequence

from tworulers.battery.questions import EXTRA, RANDOM
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import write_apart, write_count, write_p
from tworulers.report.words.adjusted import or_in_spread
from tworulers.schema.settings import Provenance


def tell_patients(judged: Sequence[ShownAudit], others: Sequence[ShownAudit] = ()) -> str:
    """Say which differences between patients the best labels show; nothing where none may say so.

    Parameters
    ----------
    judged : the audits that the page is about, the ruler compared with first.
    others : further audits of the same predictions; a noise-free truth among them comes first.
    """
    truth = next(
        (one for one in (*judged, *others) if one.result.provenance == Provenance.TRUTH), None
    )
    if truth is not None:
        return _tell_truth(truth, [one for one in judged if one is not truth])
    experts = next((one for one in judged if one.result.provenance == Provenance.GOLD), None)
    if experts is None:
        return ""
    found = find_differences(experts)
    if not found:
        return ""
    return (
        f"The labels of experts ({experts.ruler}) show a difference between the patients by "
        f"{'; by '.join(found.values())}."
    )


def find_differences(one: ShownAudit) -> dict[str, str]:
    """Describe the clearest difference of every grouping in which an audit found one."""
    tests, found = one.result.tests, {}
    # Further scores and random groups say nothing of the patients that the page is about.
    tests = tests[~tests["family"].isin([EXTRA, RANDOM]) & tests["significant"].astype(bool)]
    for grouping in iterate_rows(one.result.groupings):
        mine = tests[tests["grouping"] == grouping.grouping]
        if mine.empty:
            continue
        first = next(iter(iterate_rows(mine.sort_values("p_verdict_fdr", kind="stable"))))
        metric = one.result.metrics[str(first.metric)]
        worst = f", worst for {first.worst_group}" if isinstance(first.worst_group, str) else ""
        found[str(grouping.grouping)] = (
            f"{grouping.title} in {write_count(len(mine), 'score')}{worst} (clearest in "
            f"{metric.name_of(first.structure)}{or_in_spread(first.unequal_spread)}: "
            f"{write_apart(first.median_gap, metric)}, adjusted p "
            f"{write_p(first.p_verdict_fdr)})"
        )
    return found


def _tell_truth(truth: ShownAudit, judged: Sequence[ShownAudit]) -> str:
    """Set what each ruler says of the patients beside what the truth says."""
    shown = find_differences(truth)
    start = f"The noise-free truth ({truth.ruler}) shows "
    if shown:
        parts = [f"{start}a difference between the patients by {'; by '.join(shown.values())}."]
    else:
        parts = [f"{start}no difference between the patients, which is no proof of equality."]
    titles = dict(
        zip(truth.result.groupings["grouping"], truth.result.groupings["title"], strict=True)
    )
    missed: set[str] = set()
    for one in judged:
        found = set(find_differences(one))
        expert = one.result.provenance == Provenance.GOLD
        name = f"The labels of experts ({one.ruler})"
        absent = [titles[g] for g in shown if g not in found]
        if absent and expert:
            missed |= {g for g in shown if g not in found}
            parts.append(
                f"{name} do not show it by {' and '.join(absent)}: with these labels and "
                f"{write_count(one.result.n_exams, 'exam')} it cannot be told, which is no sign of "
                "equality."
            )
        elif absent:
            parts.append(
                f"The {one.ruler} ruler does not show by {' and '.join(absent)} what the truth "
                "shows: read alone, it hides the difference."
            )
        also = [titles[g] for g in shown if g in found]
        if also and expert:
            parts.append(f"{name} show it by {' and '.join(also)}, too.")
        elif also:
            beyond = any(g in missed for g in shown if g in found)
            parts.append(
                f"The {one.ruler} ruler shows it by {' and '.join(also)}; that it is right there is "
                "known from the truth alone"
                + (", which these labels of experts do not replace" if beyond else "")
                + ": whether such a ruler is independent of the model cannot be known from its own "
                "labels."
            )
        alone = [titles.get(g, g) for g in found if g not in shown]
        if alone:
            parts.append(
                f"The {one.ruler} ruler shows a difference by {' and '.join(alone)} that the truth "
                "does not show."
            )
    return " ".join(parts)
