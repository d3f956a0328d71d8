"""What the report says, section by section, of what is shown of the findings."""

from collections.abc import Callable, Sequence
from functools import partial

from tworulers.metrics.macro import tell_partial
from tworulers.progress import following
from tworulers.report.adjusted_tables import tell_of_adjustment
from tworulers.report.agreement_table import tabulate_agreement
from tworulers.report.anchored_section import tell_of_anchoring
from tworulers.report.answer_tables import tabulate_answers
from tworulers.report.audit_tables import (
    tabulate_groups,
    tabulate_missed,
    tabulate_model,
    tabulate_power,
    tabulate_rate_differences,
    tabulate_ratios,
    tabulate_repeats,
    tabulate_tests,
)
from tworulers.report.briefs import tabulate_overall
from tworulers.report.cohort_tables import split_relations, tabulate_people, tabulate_relations
from tworulers.report.findings import Findings, name_ruler
from tworulers.report.gallery import (
    picture_chance,
    picture_forest,
    picture_grid,
    picture_inflation,
    picture_parts,
    picture_power,
    picture_sweep,
    picture_two_rulers,
    picture_volumes,
    picture_worst,
)
from tworulers.report.page import Section
from tworulers.report.ruler_tables import (
    keep_macro,
    tabulate_by_group,
    tabulate_closeness,
    tabulate_four_fifths,
    tabulate_inflation,
    tabulate_regimes,
    tabulate_verdicts,
)
from tworulers.report.style import MOST_LISTED
from tworulers.report.tables import Table, list_sizes, make_table, write_count, write_p
from tworulers.report.view import View, order_scores
from tworulers.report.warning_section import tell_of_warning
from tworulers.report.words.exam_level import tell_exam_level
from tworulers.report.words.headline import Headline, remark_on_size
from tworulers.report.words.methods import NOT_MEASURED, write_methods
from tworulers.report.words.power import tell_unknown_power


def list_sections(view: View, whole: View, headline: Headline, left_out: str) -> list[Section]:
    """List the parts of a page that there is something to say of.

    Parameters
    ----------
    view, whole : what can be shown, and all there is.
    headline : the answer.
    left_out : which groupings and scores are not shown.
    """
    findings = view.findings
    if not view.grouping:
        bare = [
            _in_words(headline, left_out),
            _means(view),
            _inflation(view),
            _cohort(view),
            _everything(findings),
        ]
        return [section for section in bare if section is not None]
    own: Sequence[Callable[[View], Section | list[Section] | None]] = (
        *(_worst, _answers, _tests, _inflation, _why, tell_of_adjustment, _rates, _groups, _power),
        *(tell_of_anchoring, tell_of_warning),
    )
    parts: list[Callable[[], Section | list[Section] | None]] = [
        *(partial(make, view) for make in (_two_rulers, _missed)),
        partial(_in_words, headline, left_out),
        partial(_methods, whole),
        *(partial(make, view) for make in own),
        *(partial(make, findings) for make in (_regimes, _by_group)),
        *(partial(make, view) for make in (_model, _cohort)),
        partial(_everything, findings),
    ]
    sections: list[Section] = []
    with following("drawing the page", len(parts)) as tell_part:
        for part in parts:
            tell_part("")
            made = part()
            sections += made if isinstance(made, list) else [made] if made is not None else []
    return sections


def _missed(view: View) -> Section | None:
    """Say which gaps could have been missed, by the ruler compared with."""
    power = view.score.of(view.first.result.power)
    told = [*remark_on_size(view), *filter(None, [tell_unknown_power(view.first.result)])]
    if not len(power) and not told:
        return None
    tables = [tabulate_missed(view.first, view.score)] if len(power) else []
    return Section("missed", "What could have been missed", told, tables=tables)


def _in_words(headline: Headline, left_out: str) -> Section:
    """Say at length what the verdict rests on."""
    heads = ["grouping", "groups", f"by {headline.base}"]
    heads += [f"by {headline.other}", headline.changed.lower()] if headline.other else []
    rows = [
        [
            row.title,
            list_sizes(row.sizes, MOST_LISTED),
            row.base,
            *([row.other, f"{row.verdict}: {row.why}"] if headline.other else []),
        ]
        for row in headline.rows
    ]
    tables = [make_table("What each grouping shows", heads, rows)] if rows else []
    told = [headline.question, *headline.remarks, *filter(None, [left_out])]
    return Section("words", "The verdict in full", told, tables=tables)


def _methods(view: View) -> Section:
    """Write how it was done, ready for a paper."""
    change = None if view.change is None else view.change.comparison
    told = [
        *write_methods(view.first.result, change),
        f"Of the levels and coverages: {NOT_MEASURED}",
    ]
    return Section("methods", "Methods, ready for a paper", told)


def _worst(view: View) -> Section | None:
    """Show the worst exam of each group by each ruler."""
    if not view.findings.worst:
        return None
    return Section("worst", "The worst exam of each group", pictures=[picture_worst(view)])


def _answers(view: View) -> Section:
    """Show what each grouping answers: a difference, equality within the margin, or neither."""
    text = (
        "A difference is shown by the test, equality by intervals that lie inside margins stated beforehand, for every "
        "pair of groups, in scores and in failures. Where neither is shown nothing can be said."
    )
    return Section(
        "answers",
        "What can be answered",
        [text],
        tables=[tabulate_answers(one, view.score) for one in view.judged],
        details=[tabulate_answers(one, score) for one in view.judged for score in view.further],
        details_title="Answers in the other scores",
    )


def _two_rulers(view: View) -> Section | None:
    """Show the scores by group under each ruler."""
    if not view.scored or view.grouping not in view.findings.groups:
        return None
    title = "The same predictions under two rulers" if view.change else "Scores by group"
    return Section("two-rulers", title, pictures=[picture_two_rulers(view)])


def _inflation(view: View) -> Section | None:
    """Show how the scores of the same exams differ."""
    if view.change is None:
        return None
    pictures = []
    if view.scored and not view.findings.suppress_below:
        pictures = [picture_inflation(view)]
    tables = [tabulate_inflation(view.change, *view.judged)]
    closeness = view.change.comparison.closeness
    if len(closeness):
        tables.append(tabulate_closeness(closeness, view.second.name))
    if len(view.change.comparison.agreement):
        tables.append(tabulate_agreement(view.change.comparison.agreement, *view.judged))
    return Section("inflation", "What the second ruler forgives", pictures=pictures, tables=tables)


def _tests(view: View) -> Section:
    text = (
        "A filled disc is a difference significant after adjustment over the whole family, an open "
        "one a difference that only the raw p calls significant: part of a changed verdict can be "
        "the correction's doing, so both are shown."
    )
    return Section(
        "tests",
        "Every test",
        [text],
        [picture_grid(view)],
        [tabulate_tests(one, view.score) for one in view.judged],
        [tabulate_tests(one, score) for one in view.judged for score in view.further],
        "Tests of the other scores",
    )


def _why(view: View) -> Section | None:
    """Explain each changed conclusion by gap and noise."""
    if view.change is None or view.change.comparison.verdicts.empty:
        return None
    text = "No conclusion changed with the ruler. The parts of one score are shown all the same."
    if view.flipped:
        text = (
            "Each change of a conclusion is taken apart: the statistic is computed again with the gap "
            "of one ruler and the noise of the other, so that what the gap did and what the noise did "
            "can be told from each other. The mechanism is never read from the spread alone."
        )
    comparison, explained = view.change.comparison, len(view.explained) > 0
    tables = [tabulate_verdicts(view.explained, *view.judged)] if explained else []
    if len(comparison.four_fifths):
        tables.append(tabulate_four_fifths(comparison, view.first))
    return Section(
        "why",
        "Gap or noise: why the conclusions differ",
        [text],
        [picture_parts(view)] if explained else [],
        tables,
        [tabulate_verdicts(comparison.verdicts, *view.judged)],
        "Every test under both rulers",
    )


def _rates(view: View) -> list[Section]:
    """Show success rates by every metric that has a threshold, and how they hang on it."""
    if not view.rated:
        return []
    tables = [
        [
            tabulate(one, score)
            for tabulate in (tabulate_ratios, tabulate_rate_differences)
            for one in view.judged
        ]
        for score in view.rated
    ]
    text = (
        "Rates are shown with their counts. The interval with the best measured coverage "
        "stands beside the published BCa interval, which draws its lower bound up where the "
        "ratio is near 1; for a group of few exams look at the difference of the rates, whose "
        "interval (Newcombe's) holds at any size."
    )
    forests = [picture_forest(view, score) for score in view.rated]
    swept = [picture_sweep(view, score) for score in view.rated]
    further = [table for part in tables[1:] for table in part]
    others = "The other scores"
    title = "Success rates and their ratio"
    return [
        Section("rates", title, [text], forests[:1], tables[0], further, others, forests[1:]),
        Section(
            "sweep",
            "How much hangs on the threshold",
            pictures=swept[:1],
            more_pictures=swept[1:],
            details_title=others,
        ),
    ]


def _groups(view: View) -> Section:
    least = view.findings.suppress_below
    return Section(
        "groups",
        "Where the groups lie",
        tables=[tabulate_groups(one, view.score, least) for one in view.judged]
        + [tabulate_repeats(one, least) for one in view.judged[:1] if len(one.result.repeats)],
        details=[tabulate_groups(one, s, least) for s in view.further for one in view.judged],
        details_title="The other scores",
    )


def _power(view: View) -> Section | None:
    """Show the gaps that could have been found, and what more exams would do to the verdict."""
    chance = picture_chance(view)
    if chance is None and all(one.result.power.empty for one in view.judged):
        return None
    text = (
        "Not finding a difference is not finding that there is none. These are the smallest gaps "
        "that groups of these sizes and spreads would have shown."
    )
    unknown = [tell_unknown_power(one.result) for one in view.judged[1:]]
    return Section(
        "power",
        "What could have been found, by each ruler",
        [text, *filter(None, unknown)],
        [picture_power(view), *([] if chance is None else [chance])],
        [tabulate_power(one, view.score) for one in view.judged],
        [
            tabulate_power(one, score)
            for score in view.further
            for one in view.judged
            if len(score.of(one.result.power))
        ],
        "The other scores",
    )


def _regimes(findings: Findings) -> Section | None:
    tables = [
        tabulate_regimes(change, findings.audits[change.base, change.ruler])
        for change in findings.regimes
        if {(change.base, change.ruler), (change.other, change.ruler)} <= set(findings.audits)
    ]
    text = "Whether learning from other labels makes the gaps between groups wider."
    title = "Regimes under one ruler"
    return Section("regimes", title, [text], tables=tables) if tables else None


def _by_group(findings: Findings) -> Section | None:
    """Show by how much one model scores higher than another in each group, exam by exam."""
    tables = []
    for change in findings.regimes:
        one = findings.audits.get((change.base, change.ruler))
        found = keep_macro(change.comparison)
        if one is not None and len(found.by_group):
            tables.append(tabulate_by_group(found, one.result.metrics, one.titles))
    text = (
        "Paired differences of the same exams, the second model minus the first. An interval that holds zero does not "
        "say that both serve a group alike."
    )
    title = "Two models, group by group"
    return Section("by-group", title, [text], tables=tables) if tables else None


def _model(view: View) -> Section | None:
    tables = [tabulate_model(one) for one in view.judged if len(one.result.linear)]
    title = "All attributes together"
    return Section("model", title, tables=tables) if tables else None


def _cohort(view: View) -> Section | None:
    """Show who is in the cohort, and what differs between groups beside the scores."""
    cohort, titles = view.findings.cohort, view.first.titles
    tables: list[Table] = []
    if cohort.counts is not None and cohort.ages is not None:
        counts = cohort.counts.replace({"variable": titles})
        tables += tabulate_people(counts, cohort.ages, suppress_below=view.findings.suppress_below)
    if cohort.left_out is not None and len(cohort.left_out):
        left = cohort.left_out.assign(grouping=cohort.left_out["grouping"].replace(titles))
        heads = ["grouping", "value", "reason", "exams"]
        rows = left[heads].to_numpy().tolist()
        tables.append(make_table("Exams of the cohort that a grouping leaves out", heads, rows))
    if cohort.relations is not None and len(cohort.relations):
        for caption, part in split_relations(cohort.relations):
            tables.append(tabulate_relations(caption, part, titles))
    pictures = []
    if cohort.volumes is not None and len(cohort.volumes) and view.drawn:
        pictures = [picture_volumes(view)]
    if not tables and not pictures:
        return None
    text = "What differs between groups beside the scores can make a gap, or hide one."
    if cohort.exclusions is not None and len(cohort.exclusions):
        text += (
            f" Of the source {write_count(len(cohort.exclusions), 'exam')} did not enter the cohort; "
            "`exclusions.parquet` in the cohort's folder says which and why."
        )
    return Section("cohort", "The cohort and its confounders", [text], pictures, tables)


def _means(view: View) -> Section:
    """Show the scores over all exams, where nothing was grouped."""
    tables = [tabulate_overall(one.result) for one in view.judged]
    return Section("means", "Scores over all exams", tables=tables)


def _everything(findings: Findings) -> Section:
    """List every audit with its ruler's provenance, those without verdict too."""
    rows = []
    for (regime, ruler), one in findings.audits.items():
        score = order_scores(one.result)[0]
        overall = score.of(one.result.overall).iloc[0]
        mean = f"{score.label} {score.metric.write_bare(overall['mean'])}"
        if partial := tell_partial(int(overall["n_partial"]), int(overall["n_exams"])):
            mean += f" ({partial})"
        whose = [regime, ruler, one.provenance, f"{one.result.n_exams}", mean]
        found = [
            [
                f"{family['family']}: {family['significant']} of {family['size']}",
                write_p(family["smallest_p"]),
                write_p(family["smallest_p_fdr"]),
            ]
            for family in one.result.families.to_dict("records")
        ]
        rows += [[*whose, *cells] for cells in found or [["nothing was grouped", "", ""]]]
    for bare in findings.unjudged:
        rows.append([bare.regime, bare.ruler, bare.provenance, "", "", bare.reason, "", ""])
    columns = ("regime", "ruler", "provenance", "exams", "mean score", "significant in the family")
    table = make_table("Every audit", (*columns, "smallest p", "smallest adjusted p"), rows)
    named = dict.fromkeys(one.name for one in findings.audits.values())
    named |= dict.fromkeys(name_ruler(u.ruler, u.title, u.provenance) for u in findings.unjudged)
    text = "Rulers: " + "; ".join(named) + "."
    if any(one.result.by_patient for one in findings.audits.values()):
        text += " " + tell_exam_level()
    if findings.withheld:
        least, gone = findings.suppress_below, "; ".join(findings.withheld)
        text += f" Not shown, since fewer than {least} exams would be singled out: {gone}."
    title = "Every audit, and whose labels judged"
    return Section("audits", title, [text], tables=[table])
