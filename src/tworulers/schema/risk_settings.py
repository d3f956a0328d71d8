"""What a risk score is for, and how the audit of its AUC is run."""

from dataclasses import dataclass


@dataclass
class RiskUse:
    """What a risk score is for, which decides what is reported, and how the AUC audit is run."""

    name: str = "risk_estimation"
    """What the score is for: `risk_estimation`, `single_threshold`, `group_thresholds` or `ranking`."""
    all_metrics: bool = False
    """Show the metrics that are not recommended too, each with the reason why not."""
    threshold: float | None = None
    """The threshold for all groups."""
    sensitivity: float = 0.9
    """The share of events that each group's own threshold reaches."""
    bins: int = 10
    level: float = 0.95
    bootstrap_draws: int = 2_000
    seed: int = 0
