"""Audit segmentation models for fairness, and the rulers that judge them.

import tworulers as tr

tr.audit(scores, sensitive_features, provenance="gold")      one ruler: do groups differ?
tr.compare({"expert": ..., "machine": ...}, ...)             two rulers over one model
tr.compare_models({"v1": ..., "v2": ...}, ...)               two models under one ruler
tr.score_masks(predicted, true, labels=..., spacing=...)     label maps to a table of scores
tr.audit_masks(predicted, true, sensitive_features, ...)     both at once
tr.audit_risk(y_true, y_score, sensitive_features)           risk scores: the AUC matrix and its metrics
tr.auc_matrix(y_true, y_score, group)                        the matrix alone
tr.Study, tr.Metric                                          what these build, and a metric of one's own
tr.AuditWarning                                              the category of every warning
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tworulers.api.masks import audit_masks, score_masks
    from tworulers.api.results import AuditWarning
    from tworulers.api.risk import auc_matrix, audit_risk
    from tworulers.api.scores import audit, compare, compare_models
    from tworulers.schema.metric import Metric
    from tworulers.study import Study

__version__ = "0.1.0"

_HOMES = {
    "audit": "api.scores",
    "compare": "api.scores",
    "compare_models": "api.scores",
    "score_masks": "api.masks",
    "audit_masks": "api.masks",
    "audit_risk": "api.risk",
    "auc_matrix": "api.risk",
    "Study": "study",
    "Metric": "schema.metric",
    "AuditWarning": "api.results",
}
"""Where each name lives; it is imported when first asked for, so that the commands pay for none of them."""

__all__ = [
    "AuditWarning",
    "Metric",
    "Study",
    "auc_matrix",
    "audit",
    "audit_masks",
    "audit_risk",
    "compare",
    "compare_models",
    "score_masks",
]


def __getattr__(name: str) -> Any:
    """Import a public name from its room."""
    if name not in _HOMES:
        raise AttributeError(f"module 'tworulers' has no attribute {name!r}; it has {__all__}")
    value = getattr(import_module(f"tworulers.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
