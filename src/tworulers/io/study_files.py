"""The study that the pipeline's files hold: scores, their exams, and what was answered before, each file read once."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tworulers.diagnosis.comparison import Comparison, RegimeComparison
from tworulers.io.answers import (
    read_anchored,
    read_common_audits,
    read_comparison,
    read_traced,
    read_warned,
)
from tworulers.io.audits import read_audit
from tworulers.io.paths import Layout
from tworulers.io.records import read_table
from tworulers.io.results import read_scores
from tworulers.metrics.known.dice import DICE
from tworulers.metrics.registry import METRICS
from tworulers.schema.metric import Metric
from tworulers.schema.result_files import SUMMARY
from tworulers.schema.settings import Audit, Provenance, Ruler
from tworulers.schema.sources import Attributes
from tworulers.sides import Side
from tworulers.study import Reference, Study


def load_study(
    layout: Layout,
    sides: Mapping[Side, Ruler],
    people: pd.DataFrame,
    attributes: Attributes,
    settings: Audit,
    metrics: Mapping[str, Metric],
    asked: Collection[str],
    base: str = "",
    regimes: Sequence[str] = (),
) -> Study:
    """Read the scores of regimes under rulers into a study.

    Parameters
    ----------
    layout : where the files lie.
    sides : regime and ruler of each table of scores, with what is known of the ruler.
    people, attributes, settings, metrics : of the study.
    asked : the metrics that are judged; counts and volumes stand beside their scores, other metrics are left out.
    base : the ruler that the others are compared with.
    regimes : the order of the models; others follow by name.
    """
    tables = {side: read_scores(layout, *side) for side in sides}
    names = sorted(dict.fromkeys(name for _, name in sides), key=lambda name: name != base)
    rulers = {name: next(one for one in sides.values() if one.name == name) for name in names}
    order = {name: place for place, name in enumerate(regimes)}
    models = sorted({regime for regime, _ in sides}, key=lambda x: (order.get(x, 99), x))
    beyond = [
        read_table(path, "score")
        for path in (layout.beyond_table(*side) for side in sides if side[1] != names[0])
        if path.is_file()
    ]
    scores = pd.concat(tables.values(), ignore_index=True)
    return Study(
        scores=scores[scores["metric"].isin(list(asked)) | ~scores["metric"].isin(list(metrics))],
        people=people,
        attributes=attributes,
        settings=settings,
        references={
            name: Reference(
                name,
                ruler.title,
                str(ruler.provenance),
                ruler.regime,
                _find_against(ruler, names[0], names[0], tables, layout),
                relation=str(ruler.relation),
                against=_find_against_others(ruler, rulers, names[0], tables, layout),
                corrected_from=ruler.corrected_from,
                caveat=ruler.caveat,
            )
            for name, ruler in rulers.items()
        },
        models={regime: regime for regime in models},
        metrics=metrics,
        beyond=pd.concat(beyond, ignore_index=True) if beyond else None,
        called={side: f"ruler {side[1]} of regime {side[0]}" for side in sides},
    )


def load_audited(
    layout: Layout,
    folders: Mapping[Side, Path],
    rulers: Mapping[Side, Ruler],
    people: pd.DataFrame,
    attributes: Attributes,
    base: str = "",
    regimes: Sequence[str] = (),
) -> Study:
    """Read audits and the scores they are of; metrics and settings are theirs."""
    audits = {side: read_audit(folders[side]) for side in rulers}
    asked = {name: one for audit in audits.values() for name, one in audit.metrics.items()}
    settings = next(iter(audits.values())).settings
    metrics = {**METRICS, **asked}
    study = load_study(layout, rulers, people, attributes, settings, metrics, asked, base, regimes)
    study = replace(study, predicted={model: one.inference for (model, _), one in audits.items()})
    study.known.audits.update(audits)
    return study


def find_audits(layout: Layout, rulers: Sequence[str]) -> dict[Side, Path]:
    """Find the folders of audits, those of nothing too, by regime and ruler, in the order of the rulers given."""
    order = {name: place for place, name in enumerate(rulers)}
    folders = [path.parent for path in layout.audits.glob(f"*/*/{SUMMARY}")]
    folders.sort(key=lambda f: (f.parent.name, order.get(f.name, len(order)), f.name))
    return {(folder.parent.name, folder.name): folder for folder in folders}


def load_comparisons(study: Study, layout: Layout) -> None:
    """Read into a study the comparisons that were written, and how well confidence warns of failures."""
    known = study.known
    for path in sorted((layout.comparisons / "rulers").glob(f"*/*/{SUMMARY}")):
        folder, found = (
            path.parent,
            replace(read_comparison(path.parent, Comparison), metrics=study.metrics),
        )
        names = (found.summary[name] for name in ("regime", "base_ruler", "other_ruler"))
        model, base, other = names
        key = (model, base, other)
        known.rulers[key] = found
        known.traced[key], known.anchored[key] = read_traced(folder), read_anchored(folder)
        known.common[key] = read_common_audits(folder)
    for path in sorted((layout.comparisons / "regimes").glob(f"*/*/{SUMMARY}")):
        changed = read_comparison(path.parent, RegimeComparison)
        judge, first, second = (
            changed.summary[name] for name in ("ruler", "base_regime", "other_regime")
        )
        known.models[judge, first, second] = changed
    for side in known.audits:
        known.warned[side] = read_warned(layout.audit(*side))


def _find_against_others(
    ruler: Ruler,
    rulers: Mapping[str, Ruler],
    base: str,
    tables: Mapping[Side, pd.DataFrame],
    layout: Layout,
) -> dict[str, pd.DataFrame]:
    """Find the Dice of a ruler's own labels by further experts and the truth, which tell a copy from a sharper one."""
    telling = (Provenance.GOLD, Provenance.TRUTH)
    found = {
        name: _find_against(ruler, name, base, tables, layout)
        for name, one in rulers.items()
        if name != base and one.provenance in telling
    }
    return {name: scores for name, scores in found.items() if scores is not None}


def _find_against(
    ruler: Ruler, by: str, base: str, tables: Mapping[Side, pd.DataFrame], layout: Layout
) -> pd.DataFrame | None:
    """Find the Dice of a ruler's own labels by another, where they are predictions that were scored."""
    if ruler.regime is None or ruler.name == base:
        return None
    side = (ruler.regime, by)
    if side not in tables and not layout.score_table(*side).is_file():
        return None
    scores = tables[side] if side in tables else read_scores(layout, *side)
    return scores[scores["metric"] == DICE.name]
