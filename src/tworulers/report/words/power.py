"""For which tests that found nothing nobody knows what they could have found."""

from tworulers.battery.audit import AuditResult
from tworulers.report.tables import write_count

SHOWN = 3
"""Reasons told, the commonest first."""


def tell_unknown_power(result: AuditResult) -> str:
    """Say for how many of the tests without a difference the power is unknown, and why; nothing where it is known."""
    alone = result.power[result.power["correction"] == "none"]
    unknown = alone[alone["detectable_gap"].isna()]
    if unknown.empty:
        return ""
    reasons = unknown["undefined_because"].astype(str).value_counts()
    told = [f"{reason} ({write_count(n, 'test')})" for reason, n in reasons.head(SHOWN).items()]
    if len(reasons) > SHOWN:
        told.append(f"and {write_count(len(reasons) - SHOWN, 'more reason')}")
    return (
        f"Of {write_count(len(alone), 'test')} that found nothing by {result.ruler}, no such gap is known for "
        f"{len(unknown)}: {'; '.join(told)}."
    )
