"""What the intervals of a ratio of success rates are called."""

from tworulers.battery.audit import AuditResult


def name_recommended(by_patient: bool) -> str:
    """Name the recommended interval in a heading."""
    kind = "percentile interval" if by_patient else "exact percentile interval"
    return f"{kind} (recommended)"


def name_published(audit: AuditResult) -> str:
    """Name the published interval, which counts every exam on its own where it is asked to."""
    of_exams = audit.by_patient and audit.resampling_unit == "exam"
    return "published BCa interval" + " of exams" * of_exams


def explain_recommended(by_patient: bool) -> str:
    """Say what the recommended interval is drawn from."""
    if by_patient:
        return "Percentile: patients are drawn with all their exams, since some have several."
    return (
        "Exact percentile: over all success tables that these group sizes and rates can give; "
        "drawn, where those are too many."
    )
