"""What a page tells of, taken from what a study answered."""

from dataclasses import replace

import pandas as pd

from tworulers.cohort.ungrouped import form_groups
from tworulers.report.findings import (
    OWN_PREDICTIONS,
    Findings,
    RegimeChange,
    RulerChange,
    ShownAudit,
    Unjudged,
)
from tworulers.report.view import make_view
from tworulers.schema.origin import tell_unchanged
from tworulers.study import Study


def gather_findings(study: Study, dataset: str, teacher: str = "") -> Findings:
    """Gather the answers that there are, none of them made anew; groups are those of the exams the page is about.

    Parameters
    ----------
    study : with its answers.
    dataset : what the page calls its exams.
    teacher : the regime that learnt from experts alone; empty where there is none.
    """
    known, attributes = study.known, study.attributes
    audits, unjudged = {}, []
    for (model, name), audit in known.audits.items():
        reference = study.references[name]
        if reference.model == model:
            unjudged.append(
                Unjudged(model, name, reference.title, audit.provenance, OWN_PREDICTIONS)
            )
            continue
        scores = study.scores_of((model, name), judged=False)
        audits[model, name] = ShownAudit(
            audit, reference.title, scores, corrected_from=reference.corrected_from
        )
    findings = Findings(
        dataset=dataset,
        attributes=attributes.title or attributes.name,
        audits=audits,
        unjudged=unjudged,
        changes=[
            RulerChange(
                *key,
                found,
                known.traced.get(key),
                known.anchored.get(key),
                known.common.get(key, {}),
            )
            for key, found in known.rulers.items()
        ],
        regimes=[
            RegimeChange(first, second, judge, found)
            for (judge, first, second), found in known.models.items()
        ],
        warnings={side: found for side, found in known.warned.items() if found is not None},
        patients=study.patients,
        teacher=teacher,
        origins=_tell_origins(study),
    )
    return replace(findings, groups=_group(findings, study)) if audits else findings


def _tell_origins(study: Study) -> list[str]:
    """Say how references and predictions came about, and how much of a machine's labels experts left as they were."""
    told = study.origins
    for (_, base, other), found in study.known.rulers.items():
        if (made := found.summary["known"].get("corrected")) is not None:
            told.append(tell_unchanged(base, other, made["unchanged"], made["exams"]))
    return list(dict.fromkeys(filter(None, told)))


def _group(findings: Findings, study: Study) -> pd.DataFrame:
    """Put the exams that the page is about into the groups of every grouping."""
    first = make_view(findings).first
    exams = set() if first.scores is None else set(first.scores["exam_id"])
    people = study.people[study.people["exam_id"].isin(exams)]
    return form_groups(people, study.attributes)[0] if len(people) else pd.DataFrame()
