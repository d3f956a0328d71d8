"""What the synthetic cohort is made like."""

from dataclasses import dataclass, field


@dataclass
class Phantom:
    """The synthetic cervical-spine cohort: its size, its grid and the knobs of what it shows."""

    patients: int = 1232
    gold_patients: int = 481
    exams: int = 1255
    shape: list[int] = field(default_factory=lambda: [10, 120, 72])
    spacing: list[float] = field(default_factory=lambda: [4.0, 1.25, 1.25])
    age_contrast: float = 0.50
    expert_offset_mm: float = 0.40
    expert_sloppiness_mm: float = 0.34
    expert_sloppiness_spread: float = 0.90
    expert_sloppiness_cap_mm: float = 2.0
    seed: int = 0
    expert_seed: int = 0
