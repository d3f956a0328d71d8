"""How a verdict was reached: a paragraph ready for a paper, with its sources, made from the settings of the audit."""

from collections.abc import Mapping
from types import MappingProxyType

from tworulers.battery.audit import AuditResult
from tworulers.diagnosis.comparison import Comparison
from tworulers.report.tables import write_count
from tworulers.report.words.answers import write_margins
from tworulers.report.words.groupings import DRAWN_BY
from tworulers.schema.settings import MACRO

NOT_MEASURED = (
    "Not measured: where patients repeat, the intervals of DIR and DPD, of ratios of spread and gap, and the p "
    "of Dunn's pairs, of confounders and of numbers of exams; the exams needed for an answer; AUCs of coarse scores; "
    "concordance without a threshold."
)
"""Of which levels and coverages nothing is known; the others are in the calibration."""

SOURCES = {
    "Dice 1945": "Measures of the amount of ecologic association between species. Ecology 26",
    "Huttenlocher 1993": "Comparing images using the Hausdorff distance. IEEE TPAMI 15",
    "Raina 2023": "Tackling bias in the Dice similarity coefficient: introducing nDSC for white matter lesion "
    "segmentation. ISBI",
    "Mann 1947": "On a test of whether one of two random variables is stochastically larger than the other. Ann. Math. "
    "Stat. 18",
    "Kruskal 1952": "Use of ranks in one-criterion variance analysis. JASA 47",
    "Benjamini 1995": "Controlling the false discovery rate. JRSS B 57",
    "Efron 1979": "Bootstrap methods: another look at the jackknife. Ann. Stat. 7",
    "Efron 1987": "Better bootstrap confidence intervals. JASA 82",
    "Hodges 1963": "Estimates of location based on rank tests. Ann. Math. Stat. 34",
    "Schuirmann 1987": "A comparison of the two one-sided tests procedure and the power approach. J. Pharmacokinet. "
    "Biopharm. 15",
    "Holm 1979": "A simple sequentially rejective multiple test procedure. Scand. J. Stat. 6",
    "Newcombe 1998": "Interval estimation for the difference between independent proportions. Stat. Med. 17",
    "Brown 1974": "Robust tests for the equality of variances. JASA 69",
}
"""What is cited, by first author and year."""

OF_METRIC = {"dice": "Dice 1945", "hd95": "Huttenlocher 1993", "ndsc": "Raina 2023"}


def write_methods(result: AuditResult, change: Comparison | None = None) -> list[str]:
    """Write the paragraph, and the sources that it cites.

    Parameters
    ----------
    result : the audit.
    change : the comparison with another ruler, where there is one.
    """
    parts = [
        _tell_scores(result),
        _tell_tests(result),
        _tell_answers(result),
        _tell_rates(result),
        _tell_power(result),
    ]
    if change is not None:
        parts.append(_tell_change(change))
    text = " ".join(filter(None, parts))
    cited = [f"{name}. {work}." for name, work in SOURCES.items() if name in text]
    return [text, " ".join(cited)]


def tell_measured(result: AuditResult, cite: Mapping[str, str] = MappingProxyType({})) -> str:
    """Name the metrics, each with what is cited for it, and the structures."""
    names = [
        f"{result.metrics[name].title}{f' ({cite[name]})' if name in cite else ''}"
        for name in result.settings.metrics
        if name in result.metrics
    ]
    structures = set(result.overall["structure"])
    single = structures - {MACRO}
    of = [write_count(len(single), "structure")] * bool(single)
    if MACRO in structures:
        of.append("their mean (macro)" if single else "the mean over structures (macro)")
    return f"{', '.join(names)} in {' and '.join(of)}."


def _tell_scores(result: AuditResult) -> str:
    exams = f"{write_count(result.n_exams, 'exam')} of {write_count(result.n_patients, 'patient')}"
    groupings = ", ".join(dict.fromkeys(result.groupings["title"]))
    how = result.inference
    predicted = f"The model predicted with {how}; not as its recipe says. " if how else ""
    return (
        f"Predictions of {exams} were scored against reference labels {DRAWN_BY[result.provenance]} by "
        f"{tell_measured(result, OF_METRIC)} {predicted}Groups: {groupings}."
    )


def _tell_tests(result: AuditResult) -> str:
    settings = result.settings
    size = int(result.families["size"].sum())
    text = (
        "Scores of two groups were compared by the Mann-Whitney test (Mann 1947), of more by the Kruskal-Wallis test "
        f"(Kruskal 1952), two-sided at {settings.alpha:g}, and adjusted over the family of {size} tests for the false "
        "discovery rate (Benjamini 1995); a difference of spread was asked by Brown and Forsythe's test (Brown 1974). "
        "Gaps are differences between the largest and smallest group median, with percentile bootstrap intervals "
        f"(Efron 1979; {settings.bootstrap_draws:,} draws)."
    )
    if result.by_patient:
        text += (
            " Since patients have several exams, p of verdicts are of permutations that keep a patient's exams "
            f"together ({settings.permutations:,} draws), and patients are drawn whole."
        )
    return f"{text} Groups of fewer than {settings.min_group} exams got no verdict."


def _tell_answers(result: AuditResult) -> str:
    margins = write_margins(result.settings, result.metrics)
    if not margins:
        return "Equality was not asked for, as no margin was stated."
    return (
        f"Groups count as within the margin ({margins}) where, for every pair of groups, intervals of the shift "
        "(Hodges 1963) and of the difference of failures lie inside (two one-sided tests, Schuirmann "
        "1987; adjusted by Holm 1979)."
    )


def tell_successes(result: AuditResult) -> str:
    """Say by which thresholds an exam succeeds; nothing without any."""
    rules = [
        f"{result.metrics[name].title} {result.metrics[name].write_success(value)}"
        for name, value in result.settings.thresholds.items()
        if name in result.metrics
    ]
    return f"An exam succeeds by {', '.join(rules)}." if rules else ""


def _tell_rates(result: AuditResult) -> str:
    if not (rules := tell_successes(result)):
        return ""
    return (
        f"{rules[:-1]}; ratios of success rates have bootstrap intervals (Efron 1987), "
        "differences Newcombe's (Newcombe 1998)."
    )


def _tell_power(result: AuditResult) -> str:
    return (
        "For tests without a difference, the smallest gap found with 80 % power was simulated "
        f"({result.settings.power_draws:,} draws)."
        if len(result.power)
        else ""
    )


def _tell_change(change: Comparison) -> str:
    return (
        f"The audit was repeated on the same predictions with labels of provenance "
        f"{change.summary['other_provenance']} ({change.summary['other_ruler']}). Each change of a conclusion "
        "was taken apart into a part of the gap and a "
        "part of the noise, and held against chance by exchanging the rulers exam by exam."
    )
