"""What other stages left: rulers, audits and everything there is to tell of."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from tworulers.io.paths import Layout, find_choice
from tworulers.io.records import made_by, read_json, read_table
from tworulers.io.results import read_cohort
from tworulers.io.study_files import find_audits, load_audited, load_comparisons
from tworulers.recipe.task import CURVE
from tworulers.report.findings import Findings, Unjudged
from tworulers.report.from_study import gather_findings
from tworulers.report.tables import write_count
from tworulers.report.words.groupings import DRAWN_BY
from tworulers.rulers.find import judges_same_exams
from tworulers.runner.settings import load_choice
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import Distortion, Regime, Ruler, Settings, Split
from tworulers.study import Study


@dataclass(frozen=True)
class Read:
    """What was found, and of what it was found: the cohort, None where there is none, and rulers by regime and name."""

    findings: Findings
    cohort: pd.DataFrame | None
    rulers: dict[tuple[str, str], Ruler]


def find_ruler(folder: Path, layout: Layout) -> Ruler:
    """Return the ruler of an audit as the audit wrote it, else what the configuration says of it."""
    path, name = folder / "ruler.json", folder.name
    if path.is_file():
        content = read_json(path, "audit")
        return Ruler(**{**content, "distortion": Distortion(**content["distortion"])})
    try:
        return load_choice(layout.root, "ruler", name, Ruler)
    except ValueError:
        return Ruler(name, title=name, kind="folder")


def read_audits(settings: Settings, layout: Layout) -> Study:
    """Read the audits with verdict tables and the scores they are of; those by the dataset's own mix of labels cover
    other exams and are left out.

    Raises
    ------
    ValueError : there is none, or one was made with another attribute set.
    """
    folders = find_audits(layout, settings.grid.rulers)
    folders = {side: path for side, path in folders.items() if (path / "audit.json").is_file()}
    rulers = {side: find_ruler(folder, layout) for side, folder in folders.items()}
    rulers = {side: ruler for side, ruler in rulers.items() if judges_same_exams(ruler)}
    if not rulers:
        raise ValueError(
            f"no audit below {layout.show(layout.audits)}; {made_by('audit')} makes one{layout.how_to_fill}"
        )
    people, grid = read_cohort(layout), settings.grid
    study = load_audited(
        *(layout, folders, rulers, people, settings.attributes, grid.base_ruler, grid.regimes)
    )
    for side, audit in study.known.audits.items():
        if audit.attributes != settings.attributes.name:
            raise ValueError(
                f"{layout.show(folders[side])} is an audit of attributes={audit.attributes}, "
                f"asked for attributes={settings.attributes.name}; give the same to both stages"
            )
        if audit.settings.locked.sha256 != settings.audit.locked.sha256:
            raise ValueError(
                f"{layout.show(folders[side])} is an audit of audit.family={audit.settings.family} with other "
                "primary questions than are asked for; give the same to both stages, and audit again"
            )
    references = {
        name: replace(one, shares_training=find_related(one.model, study.models, layout.root))
        for name, one in study.references.items()
    }
    return study.keep(settings=settings.audit, references=references)


def find_related(regime: str | None, models: Iterable[str], root: Path) -> frozenset[str]:
    """Find the regimes that learn from labels of a kind that another learns from, too; none of labels nobody predicted.

    Parameters
    ----------
    regime : whose predictions judge.
    models : the regimes that are judged.
    root : of the project, whose `conf/regime/` says what they learn from.
    """
    if regime is None:
        return frozenset()
    learnt = {
        name: set(load_choice(root, "regime", name, Regime).provenances)
        for name in {regime, *models}
        if find_choice(root, "regime", name)
    }
    own = learnt.get(regime, set())
    return frozenset(name for name in models if learnt.get(name, set()) & own)


def read_findings(settings: Settings, layout: Layout) -> Read:
    """Read every audit and comparison there is.

    Raises
    ------
    ValueError : there is no audit.
    """
    rulers, empty = {}, []
    folders = find_audits(layout, settings.grid.rulers)
    for side, folder in folders.items():
        ruler = find_ruler(folder, layout)
        if (folder / "audit.json").is_file():
            rulers[side] = ruler
            continue
        summary = read_json(folder / SUMMARY, "audit")
        reason = str(summary["not_audited_because"])
        empty.append(Unjudged(*side, ruler.title, str(ruler.provenance), reason))
    findings = Findings("", "", {})
    cohort = read_cohort(layout) if rulers and layout.cohort_table.is_file() else None
    if rulers:
        people = pd.DataFrame(columns=["exam_id", "patient_id"]) if cohort is None else cohort
        study = load_audited(layout, folders, rulers, people, settings.attributes)
        load_comparisons(study, layout)
        dataset = settings.dataset.title or settings.dataset.name
        findings = gather_findings(study, dataset, settings.grid.teacher)
    if not findings.audits:
        raise ValueError(
            f"no audit with a verdict below {layout.show(layout.audits)}; "
            f"{made_by('audit')} makes one{layout.how_to_fill}"
        )
    told = replace(findings, unjudged=[*findings.unjudged, *empty])
    return Read(told, cohort, rulers)


def tell_training(regime: str, layout: Layout) -> list[str]:
    """Say from how many exams, labelled by whom, a regime learnt; nothing where it did not learn here."""
    path = layout.split / "counts.parquet"
    if not path.is_file() or not any(layout.models(regime).glob(f"*/*/{CURVE}")):
        return []
    counts = read_table(path, "split")
    counts = counts[(counts["regime"] == regime) & counts["split"].isin([Split.TRAIN, Split.VAL])]
    told = ", ".join(
        f"{write_count(n, 'exam')} with labels {DRAWN_BY[str(drawn)]}"
        for drawn, n in counts.groupby("provenance")["exams"].sum().items()
    )
    return [f"{regime}: {told}, for training and validation, of the same cohort."] if told else []
