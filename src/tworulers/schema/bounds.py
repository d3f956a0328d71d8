"""Between which values each number of a configuration lies; what a setting means stands with the setting."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from math import inf, isfinite
from typing import Any

from tworulers.schema.folds import list_fold_faults
from tworulers.schema.metric import Metric


@dataclass(frozen=True)
class Bound:
    """From `low` to `high`; `above` and `below` leave out the end itself."""

    low: float = -inf
    high: float = inf
    above: bool = False
    below: bool = False

    def holds(self, value: float) -> bool:
        """Tell whether a number is finite and lies within."""
        over = value > self.low if self.above else value >= self.low
        return (
            isfinite(value) and over and (value < self.high if self.below else value <= self.high)
        )

    def tell(self) -> str:
        """Say what is expected, in words."""
        parts = []
        if self.low > -inf:
            parts.append(f"{'above' if self.above else 'at least'} {self.low:g}")
        if self.high < inf:
            parts.append(f"{'below' if self.below else 'at most'} {self.high:g}")
        return "a number " + " and ".join(parts) if parts else "a finite number"


ANY, ONE_UP, TWO_UP, ZERO_UP = Bound(), Bound(1), Bound(2), Bound(0)
POSITIVE = Bound(0, above=True)
SHARE = Bound(0, 1)
SOME = Bound(0, 1, above=True)
WITHIN = Bound(0, 1, above=True, below=True)
BUT_ONE = Bound(0, 1, below=True)

BOUNDS: dict[str, Bound] = {
    **dict.fromkeys(("processes", "recipe.epochs", "recipe.iterations", "split.folds"), ONE_UP),
    **dict.fromkeys(("recipe.plan.batch_size", "recipe.plan.patch_size"), ONE_UP),
    **dict.fromkeys(("recipe.plan.base_features", "recipe.plan.max_features"), ONE_UP),
    **dict.fromkeys(("recipe.plan.blocks_per_stage", "recipe.plan.stages"), ONE_UP),
    **dict.fromkeys(("recipe.plan.space_to_depth", "recipe.validation_iterations"), ONE_UP),
    **dict.fromkeys(("trainer.threads", "trainer.parallel_folds", "trainer.nodes"), ONE_UP),
    **dict.fromkeys(
        ("trainer.gradient_accumulation", "dataset.ignore", "predictions.ignore"), ONE_UP
    ),
    **dict.fromkeys(("trainer.checkpoint_every", "trainer.predict_batch"), ONE_UP),
    **dict.fromkeys(("use.bins", "dataset.phantom.patients", "dataset.phantom.exams"), ONE_UP),
    **dict.fromkeys(("dataset.phantom.shape", "audit.min_group"), ONE_UP),
    **dict.fromkeys(("audit.bootstrap_draws", "audit.permutations", "audit.power_draws"), ZERO_UP),
    **dict.fromkeys(("use.bootstrap_draws", "report.suppress_below"), ZERO_UP),
    **dict.fromkeys(("grid.folds", "configuration.fold", "dataset.reading.phase"), ZERO_UP),
    **dict.fromkeys(
        ("trainer.workers", "recipe.warmup_iterations", "recipe.gradient_clip"), ZERO_UP
    ),
    **dict.fromkeys(("recipe.weight_decay", "recipe.poly_exponent"), ZERO_UP),
    **dict.fromkeys(("audit.min_component_mm3", "audit.surface_tolerance_mm"), ZERO_UP),
    **dict.fromkeys(("cost.board_watts", "cost.core_watts", "cost.grams_per_kwh"), ZERO_UP),
    **dict.fromkeys(
        ("ruler.distortion.boundary_noise_mm", "dataset.phantom.gold_patients"), ZERO_UP
    ),
    **dict.fromkeys(
        (f"dataset.phantom.expert_sloppiness_{name}" for name in ("mm", "spread", "cap_mm")),
        ZERO_UP,
    ),
    **dict.fromkeys(("recipe.plan.spacing", "recipe.learning_rate", "recipe.memory_gb"), POSITIVE),
    **dict.fromkeys(("dataset.phantom.spacing", "audit.margin", "dataset.margin"), POSITIVE),
    **dict.fromkeys(("audit.ndsc_fractions",), WITHIN),
    **dict.fromkeys(("audit.alpha", "audit.failure_quantile", "use.level"), WITHIN),
    **dict.fromkeys(("audit.four_fifths", "use.sensitivity", "dataset.gold_share"), SOME),
    **dict.fromkeys(
        ("recipe.batch_coverage", "predictions.threshold", "inference.tile_step"), SOME
    ),
    **dict.fromkeys(("recipe.foreground_share", "ruler.distortion.missed_share"), SHARE),
    **dict.fromkeys(("split.test", "split.val", "recipe.momentum", "recipe.tile_overlap"), BUT_ONE),
    **dict.fromkeys(("dataset.phantom.age_contrast", "dataset.phantom.expert_offset_mm"), ANY),
    **dict.fromkeys(("ruler.distortion.dilate_mm", "use.threshold", "risk.low", "risk.high"), ANY),
    **dict.fromkeys(("dataset.structures", "dataset.reading.label_map"), ANY),
    **dict.fromkeys(("predictions.structures",), ANY),
    **dict.fromkeys(("seed", "split.seed", "audit.seed", "use.seed"), ZERO_UP),
    **dict.fromkeys(("ruler.distortion.seed", "dataset.phantom.seed"), ZERO_UP),
    "dataset.phantom.expert_seed": ZERO_UP,
    "trainer.devices": Bound(-1),
    "cost.pue": ONE_UP,
}
"""Bounds by setting; of one that holds several numbers, of each."""

BY_METRIC = ("audit.thresholds", "audit.sweep")
"""Settings whose numbers are values of metrics, within whose own bounds they lie."""


def list_numbers(settings: Any, prefix: str = "") -> Iterator[tuple[str, str, float]]:
    """List the numbers of settings: the setting, the place of the number in it, and the number.

    Parameters
    ----------
    settings : a dataclass of settings, of groups of them at any depth.
    prefix : the dotted name of what they are in, with its dot.
    """
    for field in fields(settings):
        name, value = f"{prefix}{field.name}", getattr(settings, field.name)
        if is_dataclass(value):
            yield from list_numbers(value, f"{name}.")
        else:
            yield from ((name, place, number) for place, number in _list_within(value, ""))


def list_faults(settings: Any, metrics: Mapping[str, Metric]) -> list[str]:
    """List the numbers that nothing can be computed with: the key, what was expected, and what was found.

    Parameters
    ----------
    settings : all of them.
    metrics : by name, those whose values thresholds are; a threshold of any other has to be finite.
    """
    faults = []
    for name, place, number in list_numbers(settings):
        bound = BOUNDS.get(name, ANY)
        if name in BY_METRIC and (metric := metrics.get(place.lstrip(".").partition(".")[0])):
            low, high = metric.low, metric.high
            bound = Bound(-inf if low is None else low, inf if high is None else high)
        if not bound.holds(number):
            faults.append(f"{name}{place}: expected {bound.tell()}, found {number:g}")
    return faults + list_fold_faults(settings)


def _list_within(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield place, float(value)
    elif isinstance(value, Mapping):
        for key, part in value.items():
            yield from _list_within(part, f"{place}.{key}")
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _list_within(part, f"{place}.{number}")
