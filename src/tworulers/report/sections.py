"""What the report says, section by section, from audits and comparisons."""

from dataclasses import replace

from tworulers.metrics.macro import align_macro, tell_partial
from tworulers.report.anchored_section import tell_of_anchoring
from tworulers.report.audit_tables import (
    name_titles,
    tabulate_groups,
    tabulate_model,
    tabulate_power,
    tabulate_tests,
)
from tworulers.report.cohort_tables import (
    pick_groupings,
    split_relations,
    tabulate_people,
    tabulate_relations,
)
from tworulers.report.gallery import (
    ShownAudit,
    pick_explained,
    pick_grouping,
    pick_score,
    picture_chance,
    picture_grid,
    picture_inflation,
    picture_parts,
    picture_power,
    picture_two_rulers,
    picture_volumes,
)
from tworulers.report.headline import write_headline
from tworulers.report.page import Findings, Headline, RulerChange, Section
from tworulers.report.rate_section import tell_of_rates
from tworulers.report.render import Picture
from tworulers.report.rows import find_row
from tworulers.report.ruler_tables import (
    tabulate_closeness,
    tabulate_four_fifths,
    tabulate_inflation,
    tabulate_regimes,
    tabulate_verdicts,
)
from tworulers.report.style import name_ruler, score_label
from tworulers.report.tables import Table, make_table, tell_more, write_count, write_p, write_score
from tworulers.report.warning_section import tell_of_warning


def pick_change(findings: Findings) -> RulerChange | None:
    """Pick the comparison that the page is about: gold against silver where there is one.

    A regime that learnt from more than experts comes before the gold regime, since the silver ruler
    is the gold model.
    """
    usable = [
        change
        for change in findings.changes
        if (change.regime, change.base) in findings.audits
        and (change.regime, change.other) in findings.audits
    ]

    def rank(change: RulerChange) -> tuple[bool, bool, bool]:
        provenances = [
            findings.audits[change.regime, ruler].result.provenance
            for ruler in (change.base, change.other)
        ]
        identical = change.comparison.summary.get("status") == "identical"
        return identical, provenances != ["gold", "silver"], change.regime == "gold"

    return min(usable, key=rank) if usable else None


def pick_judged(findings: Findings, change: RulerChange) -> list[ShownAudit]:
    """Return both audits of a comparison, over the exams and structures that both rulers judged."""
    judged = [findings.audits[change.regime, name] for name in (change.base, change.other)]
    if not change.audits:
        return judged
    scores = [one.scores for one in judged]
    if scores[0] is not None and scores[1] is not None:
        common = set(scores[0]["exam_id"]) & set(scores[1]["exam_id"])
        kept = [one[one["exam_id"].isin(common)] for one in scores if one is not None]
        scores = list(align_macro(*kept))
    return [
        replace(one, result=change.audits[one.ruler], scores=part)
        for one, part in zip(judged, scores, strict=True)
    ]


def _name_other_exams(one: ShownAudit, judged: ShownAudit) -> ShownAudit:
    """Say of an audit over other exams than the page's how many it has."""
    if one.result.n_exams == judged.result.n_exams:
        return one
    return replace(one, title=f"{one.title or one.ruler}, over other exams ({one.result.n_exams})")


def write_report(findings: Findings) -> tuple[Headline, list[Section]]:
    """Write the headline and the sections, leaving out what there is nothing to say of.

    Raises
    ------
    ValueError : there is no audit.
    """
    if not findings.audits:
        raise ValueError("there is no audit to report; run the audit stage first")
    change = pick_change(findings)
    if change is not None:
        judged = pick_judged(findings, change)
    else:
        first = next(
            (one for one in findings.audits.values() if one.result.provenance == "gold"),
            next(iter(findings.audits.values())),
        )
        judged = [first]
    regime = judged[0].result.regime
    others = [
        _name_other_exams(one, judged[0])
        for (name, ruler), one in findings.audits.items()
        if name == regime and ruler not in {j.ruler for j in judged}
    ]
    verdicts = change.comparison.verdicts if change is not None else None
    grouping = pick_grouping(judged[0].result, verdicts)
    sections = [
        *_rulers(findings, change, judged, grouping),
        _tests(judged, others),
        *_why(change, judged),
        *tell_of_rates(judged, grouping),
        _groups(judged, findings.suppress_below),
        *_power(judged, change, grouping),
        *tell_of_anchoring(judged, change, grouping),
        *tell_of_warning(findings, judged, grouping),
        *_regimes(findings),
        _model(judged),
        *_cohort(findings, judged),
        _everything(findings),
    ]
    return write_headline(judged, change, grouping, others, findings.unjudged), [
        section for section in sections if section is not None
    ]


def _rulers(
    findings: Findings, change: RulerChange | None, judged: list[ShownAudit], grouping: str
) -> list[Section]:
    """Show the scores by group under each ruler, and how the scores of the same exams differ."""
    metric, structure = pick_score(judged[0].result)
    at_hand = all(one.scores is not None for one in judged)
    sections = []
    if at_hand and grouping in findings.groups:
        title = "The same predictions under two rulers" if len(judged) > 1 else "Scores by group"
        series = findings.groups[grouping]
        picture = picture_two_rulers(
            judged,
            series,
            metric=metric,
            structure=structure,
            single_exams=not findings.suppress_below,
        )
        sections.append(Section("two-rulers", title, pictures=(picture,)))
    if change is None:
        return sections
    first, second = judged
    closeness = change.comparison.closeness
    pictures: tuple[Picture, ...] = ()
    if at_hand and not findings.suppress_below:
        pictures = (picture_inflation(first, second, metric=metric, structure=structure),)
    metrics, names = first.result.metrics, (first.name, second.name)
    partial = change.comparison.summary.get("macro_partial", {})
    tables = [tabulate_inflation(change.comparison.inflation, *names, metrics, partial)]
    if len(closeness):
        tables.append(tabulate_closeness(closeness, second.name))
    title = "What the second ruler forgives"
    sections.append(Section("inflation", title, pictures=pictures, tables=tuple(tables)))
    return sections


def _tests(judged: list[ShownAudit], others: list[ShownAudit]) -> Section:
    metric, structure = pick_score(judged[0].result)
    tables = [
        tabulate_tests(one.result, one.name, metric=metric, structure=structure) for one in judged
    ]
    text = (
        "A filled disc is a difference significant after adjustment over the whole family, an open "
        "one a difference that only the raw p calls significant: part of a changed verdict can be "
        "the correction's doing, so both are shown."
    )
    more = []
    for one in judged:
        for name, where in list_scores(one):
            if (name, where) != (metric, structure):
                more.append(tabulate_tests(one.result, one.name, metric=name, structure=where))
    return Section(
        "tests",
        "Every test",
        (text,),
        (picture_grid([*judged, *others]),),
        tuple(tables),
        tuple(more),
        "Tests of the other scores",
    )


def list_scores(judged: ShownAudit) -> list[tuple[str, str]]:
    """List the (metric, structure) of an audit in the order of its tests."""
    tests = judged.result.tests
    return list(dict.fromkeys(zip(tests["metric"], tests["structure"], strict=True)))


def _why(change: RulerChange | None, judged: list[ShownAudit]) -> list[Section]:
    """Explain each changed conclusion by gap and noise."""
    if change is None or change.comparison.verdicts.empty:
        return []
    first, second = judged
    metric, structure = pick_score(first.result)
    titles = name_titles(first.result)
    shown = pick_explained(change.comparison.verdicts, metric, structure)
    flips = bool(shown["flip"].isin(["other_only", "base_only"]).any()) if len(shown) else False
    text = (
        "Each change of a conclusion is taken apart: the statistic is computed again with the gap "
        "of one ruler and the noise of the other, so that what the gap did and what the noise did "
        "can be told from each other. The mechanism is never read from the spread alone."
        if flips
        else "No conclusion changed with the ruler. The parts of one score are shown all the same."
    )
    metrics, names = first.result.metrics, (first.name, second.name)
    tables = [tabulate_verdicts(shown, titles, *names, metrics)] if len(shown) else []
    if len(change.comparison.four_fifths):
        tables.append(tabulate_four_fifths(change.comparison.four_fifths, titles, metrics))
    every = tabulate_verdicts(change.comparison.verdicts, titles, *names, metrics)
    return [
        Section(
            "why",
            "Gap or noise: why the conclusions differ",
            (text,),
            (picture_parts(first, second, shown),) if len(shown) else (),
            tuple(tables),
            (every,),
            "Every test under both rulers",
        )
    ]


def _groups(judged: list[ShownAudit], suppress_below: int) -> Section:
    metric, structure = pick_score(judged[0].result)

    def tabulate(name: str, where: str) -> list[Table]:
        return [
            tabulate_groups(
                one.result, one.name, metric=name, structure=where, suppress_below=suppress_below
            )
            for one in judged
        ]

    rest = [s for s in list_scores(judged[0]) if s != (metric, structure)]
    return Section(
        "groups",
        "Where the groups lie",
        tables=tuple(tabulate(metric, structure)),
        details=tuple(table for name, where in rest for table in tabulate(name, where)),
        details_title="The other scores",
    )


def _power(judged: list[ShownAudit], change: RulerChange | None, grouping: str) -> list[Section]:
    """Show the gaps that could have been found, and what more exams would do to the verdict."""
    metric, structure = pick_score(judged[0].result)
    pictures = []
    traced = change.probability if change is not None else None
    if traced is not None and find_row(
        traced, grouping=grouping, metric=metric, structure=structure
    ):
        first, second = judged
        pictures.append(
            picture_chance(
                first, second, traced, grouping=grouping, metric=metric, structure=structure
            )
        )
    if all(one.result.power.empty for one in judged) and not pictures:
        return []
    tables = [
        tabulate_power(one.result, one.name, metric=metric, structure=structure) for one in judged
    ]
    text = (
        "Not finding a difference is not finding that there is none. These are the smallest gaps "
        "that groups of these sizes and spreads would have shown."
    ) + tell_more(judged[0].result.power, {(metric, structure)}, "power.parquet")
    pictures.insert(0, picture_power(judged, metric=metric, structure=structure))
    title = "What could have been found"
    return [Section("power", title, (text,), tuple(pictures), tuple(tables))]


def _regimes(findings: Findings) -> list[Section]:
    tables = []
    for change in findings.regimes:
        sides = [findings.audits.get((name, change.ruler)) for name in (change.base, change.other)]
        if sides[0] is None or sides[1] is None:
            continue
        ruler = sides[0].name
        comparison = change.comparison
        tables.append(
            tabulate_regimes(
                comparison.differences,
                comparison.gaps,
                change.base,
                change.other,
                ruler,
                sides[0].result.metrics,
                comparison.summary.get("macro_partial", {}),
            )
        )
    if not tables:
        return []
    text = "Whether learning from other labels makes the gaps between groups wider."
    return [Section("regimes", "Regimes under one ruler", (text,), tables=tuple(tables))]


def _model(judged: list[ShownAudit]) -> Section | None:
    tables = [tabulate_model(one.result, one.name) for one in judged if len(one.result.linear)]
    return Section("model", "All attributes together", tables=tuple(tables)) if tables else None


def _cohort(findings: Findings, judged: list[ShownAudit]) -> list[Section]:
    """Show who is in the cohort, and what differs between groups beside the scores."""
    cohort, titles = findings.cohort, name_titles(judged[0].result)
    tables: list[Table] = []
    if cohort.counts is not None and cohort.ages is not None:
        counts = cohort.counts.replace({"variable": titles})
        tables += tabulate_people(counts, cohort.ages, suppress_below=findings.suppress_below)
    if cohort.left_out is not None and len(cohort.left_out):
        left = cohort.left_out.assign(grouping=cohort.left_out["grouping"].replace(titles))
        rows = left[["grouping", "value", "reason", "exams"]].to_numpy().tolist()
        heads = ("grouping", "value", "reason", "exams")
        tables.append(make_table("Exams of the cohort that a grouping leaves out", heads, rows))
    if cohort.relations is not None and len(cohort.relations):
        for caption, part in split_relations(cohort.relations):
            tables.append(tabulate_relations(caption, part, titles))
    pictures: tuple[Picture, ...] = ()
    if cohort.volumes is not None and len(cohort.volumes) and len(findings.groups.columns):
        groups = {name: findings.groups[name] for name in pick_groupings(findings.groups)}
        more = len(findings.groups.columns) - len(groups)
        ruler = cohort.volumes_ruler
        pictures = (picture_volumes(cohort.volumes, groups, titles, ruler, more),)
    if not tables and not pictures:
        return []
    text = "What differs between groups beside the scores can make a gap, or hide one."
    if cohort.exclusions is not None and len(cohort.exclusions):
        text += (
            f" Of the source {write_count(len(cohort.exclusions), 'exam')} did not enter the cohort; "
            "`exclusions.parquet` in the cohort's folder says which and why."
        )
    return [Section("cohort", "The cohort and its confounders", (text,), pictures, tuple(tables))]


def _everything(findings: Findings) -> Section:
    """List every audit with its ruler's provenance, those without verdict too."""
    rows = []
    for (regime, ruler), one in findings.audits.items():
        metric, structure = pick_score(one.result)
        overall = find_row(one.result.overall, metric=metric, structure=structure)
        known = one.metric(metric)
        partial = tell_partial(overall.n_partial, overall.n_exams)
        partial = f" ({partial})" if partial else ""
        for family in one.result.families.to_dict("records"):
            rows.append(
                [
                    regime,
                    ruler,
                    one.result.provenance,
                    f"{one.result.n_exams}",
                    f"{score_label(known, structure)} {write_score(overall.mean, known)}{partial}",
                    f"{family['family']}: {family['significant']} of {family['size']}",
                    write_p(family["smallest_p"]),
                    write_p(family["smallest_p_fdr"]),
                ]
            )
    for bare in findings.unjudged:
        rows.append([bare.regime, bare.ruler, bare.provenance, "", "", bare.reason, "", ""])
    columns = ("regime", "ruler", "provenance", "exams", "mean score", "significant in the family")
    table = make_table("Every audit", (*columns, "smallest p", "smallest adjusted p"), rows)
    named = dict.fromkeys(one.name for one in findings.audits.values())
    named |= dict.fromkeys(name_ruler(u.ruler, u.title, u.provenance) for u in findings.unjudged)
    text = "Rulers: " + "; ".join(named) + "."
    if any(one.result.by_patient for one in findings.audits.values()):
        text += (
            " Where patients have several exams, significance and the smallest p keep a patient's "
            "exams together."
        )
    if findings.withheld:
        least, gone = findings.suppress_below, "; ".join(findings.withheld)
        text += f" Not shown, since fewer than {least} exams would be singled out: {gone}."
    return Section("audits", "Every audit, and whose labels judged", (text,), tables=(table,))
