"""What changes with the ruler, or with the regime: every pair of audits there is, or two ready
tables of the same predictions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pandas as pd

from tworulers.audit import AuditResult, audit_scores
from tworulers.ingest.measures import require_same_measures
from tworulers.ingest.score_table import ScoreRecords, read_score_table
from tworulers.io.audits import read_audit
from tworulers.io.console import say
from tworulers.io.paths import Layout, place_within
from tworulers.io.records import (
    folder_written_beside,
    made_by,
    read_json,
    read_table,
    write_json,
    write_table,
)
from tworulers.metrics.macro import align_macro
from tworulers.report.gallery import ShownAudit, comparison_figures
from tworulers.rulers import (
    Audited,
    Comparison,
    compare_regimes,
    compare_rulers,
    verdict_probability,
)
from tworulers.schema import MACRO, Ruler, Settings
from tworulers.schema_sources import ScoreTable
from tworulers.stages._anchoring import anchor_scores
from tworulers.stages._common_exams import (
    audit_again,
    find_common,
    keep_common_scores,
    require_same_people,
    write_common_audits,
)
from tworulers.stages._comparison import (
    keep_to_tests,
    show_regimes,
    show_rulers,
    write_comparison,
    write_note,
)
from tworulers.stages._figures import write_figures
from tworulers.stages._keyed import describe_tables, place_result, write_stamp
from tworulers.stages._run import load_choice, run_stage
from tworulers.stages.audit import form_groups, tell_groups
from tworulers.stats.battery import MAIN
from tworulers.tables import Cohort, Scores
from tworulers.tracking import RunRecord

BASE = "gold"
"""The ruler that every other one is compared with."""

TIMES = (0.5, 0.75, 1, 1.5, 2, 3, 4)
"""How many times as many exams as there are a verdict's probability is traced for."""


def compare(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Compare each regime's audits under the gold ruler with those under every other ruler, and all
    pairs of regimes under one ruler; or two ready tables, where `scores.file` names the first.
    """
    if settings.scores.file is not None:
        return compare_tables(settings, layout)
    audits = find_audits(settings, layout)
    root = layout.comparisons
    metrics: dict[str, float] = {}
    with folder_written_beside(root) as folder:
        for regime, base, other in pair_rulers(audits):
            found, anew = compare_two_rulers(regime, base, other, audits, settings, layout)
            target = folder / "rulers" / regime / f"{base}_{other}"
            metrics |= write_comparison(found, target, f"{regime}/{base}_{other}")
            write_common_audits(anew, target)
            draw_rulers(found, anew, audits, settings, layout, target / "figures")
            trace_rulers(found, settings, layout, target / "probability.parquet")
            for sentence in anchor_scores(regime, base, other, settings, layout, target):
                say(sentence)
            show_rulers(found)
        for ruler, first, second in pair_regimes(audits, settings):
            before, after, _ = read_sides((first, ruler), (second, ruler), audits, settings, layout)
            changed = compare_regimes(
                before,
                after,
                group_exams(before.scores, settings, layout),
                settings.audit,
                patients=pick_patients(before.scores, layout),
            )
            target = folder / "regimes" / ruler / f"{first}_{second}"
            metrics |= write_comparison(changed, target, f"{ruler}/{first}_{second}")
            show_regimes(changed)
        write_json(
            {"comparisons": len(list(folder.glob("*/*/*/summary.json")))}, folder / "about.json"
        )
    say(f"written to {layout.relative(root)}")
    description = "Audits compared: rulers over one regime's predictions, regimes under one ruler."
    tags = {"attributes": settings.attributes.name}
    return root, RunRecord("compare", "compare", description, tags, metrics=metrics)


def find_audits(settings: Settings, layout: Layout) -> dict[tuple[str, str], Path]:
    """Find the audits with verdict tables, in the grid's order; those by the dataset's own mix of
    labels cover other exams and are left out.

    Raises
    ------
    ValueError : there is none, or one was made with another attribute set.
    """
    root = layout.outputs / "audits"
    rulers = {name: place for place, name in enumerate(settings.grid.rulers)}
    found = {}
    for path in root.glob("*/*/audit.json"):
        about = read_json(path, "audit")
        if about["attributes"] != settings.attributes.name:
            raise ValueError(
                f"{layout.relative(path.parent)} is an audit of attributes={about['attributes']}, "
                f"asked for attributes={settings.attributes.name}; give the same to both stages"
            )
        ruler = find_ruler(path.parent.name, settings, layout)
        if ruler.kind != "dataset":
            found[path.parent.parent.name, path.parent.name] = path.parent
    if not found:
        raise ValueError(
            f"no audit below {layout.relative(root)}; {made_by('audit')} makes one{layout.how_to_fill}"
        )
    return dict(sorted(found.items(), key=lambda x: (x[0][0], rulers.get(x[0][1], 99), x[0][1])))


def pair_rulers(audits: Mapping[tuple[str, str], Path]) -> list[tuple[str, str, str]]:
    """List regime, gold ruler and other ruler of every comparison there can be."""
    return [
        (regime, BASE, other)
        for regime, other in audits
        if other != BASE and (regime, BASE) in audits
    ]


def pair_regimes(
    audits: Mapping[tuple[str, str], Path], settings: Settings
) -> list[tuple[str, str, str]]:
    """List ruler and two regimes of every comparison there can be, the grid's order kept."""
    order = {name: place for place, name in enumerate(settings.grid.regimes)}
    regimes = sorted({regime for regime, _ in audits}, key=lambda x: (order.get(x, 99), x))
    rulers = dict.fromkeys(ruler for _, ruler in audits)
    return [
        (ruler, first, second)
        for ruler in rulers
        for first, second in combinations(regimes, 2)
        if (first, ruler) in audits and (second, ruler) in audits
    ]


def compare_two_rulers(
    regime: str,
    base: str,
    other: str,
    audits: Mapping[tuple[str, str], Path],
    settings: Settings,
    layout: Layout,
) -> tuple[Comparison, tuple[AuditResult, ...]]:
    """Compare two audits of a regime, with what is known of the other ruler's own errors; return the audits that
    had to be made anew as well.
    """
    names = f"ruler {base} of regime {regime}", f"ruler {other}"
    judged, again, anew = read_sides((regime, base), (regime, other), audits, settings, layout)
    find_common(judged.scores, again.scores, names).require_all()
    made = find_ruler(other, settings, layout)
    everything = again.scores
    found = compare_rulers(
        judged,
        again,
        group_exams(judged.scores, settings, layout),
        settings.audit,
        patients=pick_patients(judged.scores, layout),
        ruler_against_expert=read_ruler_against_expert(made, base, layout),
        shared_error=average_structures(everything[everything["metric"] == "shared_error"]),
    )
    return found, anew


def draw_rulers(
    found: Comparison,
    anew: Sequence[AuditResult],
    audits: Mapping[tuple[str, str], Path],
    settings: Settings,
    layout: Layout,
    folder: Path,
) -> None:
    """Draw a comparison of rulers; the model's own predictions are no ruler and are not drawn."""
    if found.summary["status"] == "identical":
        return
    regime = found.summary["regime"]
    rulers = (found.summary["base_ruler"], found.summary["other_ruler"])
    judged = anew or [read_audit(audits[regime, ruler]) for ruler in rulers]
    scores = align_macro(*(read_scores(regime, ruler, layout) for ruler in rulers))
    shown = [
        ShownAudit(audit, find_ruler(audit.ruler, settings, layout).title, part)
        for audit, part in zip(judged, scores, strict=True)
    ]
    groups = group_exams(scores[0], settings, layout)
    write_figures(comparison_figures(shown[0], shown[1], groups, found.verdicts), folder)


def trace_rulers(found: Comparison, settings: Settings, layout: Layout, path: Path) -> None:
    """Write how often each ruler would find a difference with fewer and with more exams.

    Only tests of the main family are traced. Studies are drawn from the scored exams, of a patient
    with several from the first alone, since a study of exams would count such a patient twice.
    """
    if found.summary["status"] == "identical" or settings.audit.power_draws < 1:
        return
    tests = found.verdicts.loc[found.verdicts["family"] == MAIN]
    if tests.empty:
        return
    keys = tests[["structure", "metric"]].drop_duplicates()
    names = (found.summary["base_ruler"], found.summary["other_ruler"])
    scores = align_macro(*(read_scores(found.summary["regime"], r, layout) for r in names))
    base, other = (side.merge(keys) for side in scores)
    patients = pick_patients(base, layout).sort_index()
    single = patients.index[~patients.duplicated()]
    base, other = (side[side["exam_id"].isin(single)] for side in (base, other))
    groups = group_exams(base, settings, layout)[list(tests["grouping"].unique())]
    n = base["exam_id"].nunique()
    sizes = sorted({max(8, round(n * times)) for times in TIMES})
    draws, seed = settings.audit.power_draws, settings.audit.seed
    traced = verdict_probability(
        base, other, groups, sizes, draws, seed, alpha=settings.audit.alpha
    )
    write_table(traced, path)


def read_sides(
    first: tuple[str, str],
    second: tuple[str, str],
    audits: Mapping[tuple[str, str], Path],
    settings: Settings,
    layout: Layout,
) -> tuple[Audited, Audited, tuple[AuditResult, ...]]:
    """Read two audits, each by regime and ruler, their macro scores over the structures defined under both.

    The audits are made anew, and returned beside, where that changes a score.
    """
    found = [read_audit(audits[side]) for side in (first, second)]
    read = [read_scores(*side, layout) for side in (first, second)]
    scores = align_macro(*read)
    changed = scores[0] is not read[0]
    if changed:
        groups = group_exams(scores[0], settings, layout)
        patients = pick_patients(scores[0], layout)
        found = [
            audit_again(audit, part, groups, patients, settings.attributes)
            for audit, part in zip(found, scores, strict=True)
        ]
    base, other = (
        Audited(part, audit.tests, audit.disparities, audit.metrics)
        for part, audit in zip(scores, found, strict=True)
    )
    return base, other, tuple(found) if changed else ()


def read_scores(regime: str, ruler: str, layout: Layout) -> pd.DataFrame:
    """Read the scores of a regime under a ruler."""
    return read_table(layout.scores(regime, ruler) / "scores.parquet", "score", Scores)


def read_ruler_against_expert(ruler: Ruler, expert: str, layout: Layout) -> pd.DataFrame | None:
    """Read the Dice of the ruler's labels against the expert's, where predictions were scored."""
    if ruler.regime is None:
        return None
    path = layout.scores(ruler.regime, expert) / "scores.parquet"
    if not path.is_file():
        return None
    scores = read_table(path, "score", Scores)
    return scores[scores["metric"] == "dice"]


def average_structures(scores: pd.DataFrame) -> pd.DataFrame | None:
    """Add the mean over structures of every exam to scores that have none; None without scores."""
    if scores.empty:
        return None
    macro: pd.DataFrame = scores.groupby("exam_id")[["value"]].mean().reset_index()
    macro = macro.assign(structure=MACRO)
    parts: list[pd.DataFrame] = [scores[["exam_id", "structure", "value"]], macro]
    return pd.concat(parts, ignore_index=True)


def group_exams(scores: pd.DataFrame, settings: Settings, layout: Layout) -> pd.DataFrame:
    """Put the scored exams into groups, as the audit did."""
    return form_groups(_scored_cohort(scores, layout), settings.attributes)[0]


def pick_patients(scores: pd.DataFrame, layout: Layout) -> pd.Series:
    """Return the patient of each exam."""
    return _scored_cohort(scores, layout).set_index("exam_id")["patient_id"]


def find_ruler(name: str, settings: Settings, layout: Layout) -> Ruler:
    """Return what the configuration says of a ruler; one it does not name has a name alone."""
    if name == settings.ruler.name:
        return settings.ruler
    try:
        return load_choice(layout.root, "ruler", name, Ruler)
    except ValueError:
        return Ruler(name, title=name, kind="folder")


def compare_tables(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Audit and compare two ready tables of the same predictions under two rulers."""
    if settings.against.file is None:
        raise ValueError(
            "a comparison needs two tables of the same predictions: give against.file=... and "
            "against.provenance=... beside scores.file"
        )
    specs = [settings.scores, settings.against]
    names = [spec.provenance or "unnamed" for spec in specs]
    if names[0] == names[1]:
        names = [f"{name}_{place}" for place, name in enumerate(names, 1)]
    tables = [
        read_score_table(spec, name, macro=settings.audit.macro)
        for spec, name in zip(specs, names, strict=True)
    ]
    for note in (note for table in tables for note in table.notes):
        say(note)
    require_same_measures(*(table.measures for table in tables))
    first, second = tables
    files = _name_files(specs)
    common = find_common(first.scores, second.scores, files)
    cohort = common.keep(first.cohort)
    require_same_people(cohort, common.keep(second.cohort), files, settings.attributes)
    *scores, notes = keep_common_scores(
        common.keep(first.scores), common.keep(second.scores), files
    )
    scores = list(align_macro(*scores))
    for note in [*common.tell(), *notes]:
        say(note)
    for note in tell_groups(cohort, settings.attributes):
        say(note)
    groups, _ = form_groups(cohort, settings.attributes)
    patients = cohort.set_index("exam_id")["patient_id"]
    base, other = (
        _audit_table(replace(table, scores=kept), groups, patients, settings)
        for table, kept in zip(tables, scores, strict=True)
    )
    found = compare_rulers(base, other, groups, settings.audit, patients=patients)
    found.summary.update(common.count())
    stem = Path(str(settings.scores.file)).stem
    root = Layout.of_table(settings, layout.root).outputs
    made_from = describe_tables(settings, "scores", "against")
    named = place_within(root, comparison=f"{names[0]}_and_{names[1]}")
    result = place_result(named, made_from, layout)
    with folder_written_beside(result) as folder:
        metrics = write_comparison(found, folder, f"{names[0]}_{names[1]}")
        write_stamp(made_from, folder)
    show_rulers(found)
    say(f"written to {layout.relative(result)}")
    tags = {"attributes": settings.attributes.name, "dataset": stem}
    name = f"rulers · {names[0]}, {names[1]}"
    return result, RunRecord("compare", name, write_note(found.summary), tags, metrics=metrics)


def _name_files(specs: Sequence[ScoreTable]) -> tuple[str, str]:
    """Name two tables by their files, with the folder where the files are called alike."""
    first, second = (str(spec.file) for spec in specs)
    if Path(first).name != Path(second).name:
        return Path(first).name, Path(second).name
    return first, second


def _scored_cohort(scores: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    cohort = read_table(layout.cohort / "cohort.parquet", "cohort", Cohort)
    return cohort[cohort["exam_id"].isin(scores["exam_id"])]


def _audit_table(
    table: ScoreRecords, groups: pd.DataFrame, patients: pd.Series, settings: Settings
) -> Audited:
    quick = keep_to_tests(settings.audit, patients.reindex(table.scores["exam_id"].unique()))
    attributes = settings.attributes
    audit = audit_scores(table.scores, groups, patients, quick, attributes, None, table.measures)
    return Audited(table.scores, audit.tests, audit.disparities, audit.metrics)


if __name__ == "__main__":
    run_stage(
        compare,
        ("dataset.name", "attributes", "audit", "scores", "against", "grid.regimes", "grid.rulers"),
    )
