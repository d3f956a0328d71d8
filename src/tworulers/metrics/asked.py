"""The metrics and structures that an audit asks for: names that nothing knows or no score holds are faults."""

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

from tworulers.schema.settings import FAILURES, Audit


class UnknownNameError(ValueError):
    """Settings name metrics or structures that do not exist or were not scored; the message lists them all."""


def list_asked(settings: Audit) -> list[str]:
    """Return the metrics that an audit asks for, those of the main family first, each once."""
    return list(dict.fromkeys([*settings.metrics, *settings.extra_metrics]))


def list_unknown(settings: Audit, known: Collection[str]) -> list[str]:
    """Say of each metric that the settings name and nothing knows where it stands, and the nearest known one.

    Parameters
    ----------
    settings : metrics, extra metrics, thresholds, sweeps and margins.
    known : names of all metrics there are.
    """
    places = {
        "audit.metrics": settings.metrics,
        "audit.extra_metrics": settings.extra_metrics,
        "audit.thresholds": settings.thresholds,
        "audit.sweep": settings.sweep,
        "audit.margin": [name for name in settings.margin if name != FAILURES],
    }
    faults = []
    for place, names in places.items():
        for name in names:
            if name not in known:
                faults.append(
                    f"{place}: no metric is called {name!r}{_guess(name, known)}; "
                    f"known: {', '.join(known)}"
                )
    return faults


def list_unknown_questions(
    questions: Iterable[Sequence[str]],
    metrics: Collection[str],
    groupings: Collection[str],
    structures: Collection[str] | None = None,
) -> list[str]:
    """Say of each name in primary questions that there is nothing of that name, and the nearest known one.

    Parameters
    ----------
    questions : metric, structure and grouping of each.
    metrics, groupings, structures : names there are; structures are not asked for where they are not known yet.
    """
    places = (("metric", metrics), ("structure", structures), ("grouping", groupings))
    return [
        f"audit.primary: {place} {name!r} is not there{_guess(name, known)}; there are: {', '.join(known)}"
        for (place, known), names in zip(places, zip(*questions, strict=True), strict=True)
        if known is not None
        for name in dict.fromkeys(names)
        if name not in known
    ]


def require_metrics(
    settings: Audit, known: Collection[str], held: Collection[str] | None = None
) -> None:
    """Refuse settings that name metrics which do not exist, or which the scores do not hold.

    Parameters
    ----------
    settings : what is asked for.
    known : names of all metrics there are.
    held : names of the metrics that were scored; None where nothing was scored yet.

    Raises
    ------
    UnknownNameError : with a line for each name.
    """
    faults = list_unknown(settings, known)
    if held is not None:
        absent = [name for name in list_asked(settings) if name in known and name not in held]
        faults += [
            f"{name!r} is asked for and not scored; the scores hold {', '.join(held)}: give the "
            "score stage the same audit.metrics, or ask for those there are"
            for name in absent
        ]
    if faults:
        raise UnknownNameError("metrics that cannot be audited:\n  " + "\n  ".join(faults))


def require_structures(asked: Collection[str], held: Collection[str]) -> None:
    """Refuse structures that are asked for by name and not scored.

    Raises
    ------
    UnknownNameError : with a line for each name.
    """
    absent = [
        f"audit.structures: no score is of {name!r}{_guess(name, held)}; scored: {', '.join(held)}"
        for name in asked
        if name not in held
    ]
    if absent:
        raise UnknownNameError("structures that cannot be audited:\n  " + "\n  ".join(absent))


def _guess(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, list(known), 1)
    return f" (did you mean {near[0]!r}?)" if near else ""
