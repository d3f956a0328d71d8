"""What three label maps can tell of a ruler, and what they cannot: copies, sharper models, consensus, second raters."""

from dataclasses import dataclass

import numpy as np

from calibration.rows import Row, Topic
from tworulers.diagnosis.closeness import measure_closeness
from tworulers.diagnosis.witness import count_exams_needed, hear_expert, hear_truth

EXAMS = 76
LEVELS = (0.80, 0.90, 0.95, 0.98)
"""Mean Dice of the model by one expert."""

VARIATION = 0.6
"""Coefficient of variation of every error over exams, log-normal."""

MEETING = 0.2
"""Largest share of the smaller of two errors in which they meet by chance, at a structure's border."""

PARTS = ("model", "ruler", "shared", "expert", "second")


@dataclass(frozen=True)
class Made:
    """How a ruler is made: mean errors in units of what the expert holds against the model.

    `model` and `ruler` are errors of their own, `shared` is what the two have in common, `expert` the expert's own;
    the expert holds model + shared + expert, which is 1.
    """

    name: str
    model: float
    ruler: float
    shared: float
    expert: float
    is_copy: bool
    close: float = float("nan")
    """What has to be called too close, as a least share; NaN where nothing is asked."""


def make_copy(forgiving: float) -> Made:
    """Make a copy that forgives a share of what the expert holds: model and ruler differ by the rest, half by half."""
    own = (1 - forgiving) / 2
    return Made(f"copy forgiving {forgiving:g}", own, own, 0.8 - own, 0.2, True, 0.95)


RATER = Made("second rater of equal noise", 0.5, 0.5, 0.0, 0.5, False)
RULERS = (
    make_copy(0.6),
    make_copy(0.8),
    RATER,
    Made("consensus of 9 experts", 0.5, 0.5 / 3, 0.0, 0.5, False),
    Made("consensus of 25 experts", 0.5, 0.1, 0.0, 0.5, False),
    Made("sharper independent model, noisy expert", 0.2, 0.2, 0.0, 0.8, False),
    Made("consensus of 25, good model, noisy expert", 0.2, 0.16, 0.0, 0.8, False),
    Made("two models that share half of their error, noisy expert", 0.1, 0.1, 0.1, 0.8, False),
)
"""The sixth is the phantom's case: two models that are both nearer to the truth than the expert is."""


def measure(studies: int, rng: np.random.Generator) -> list[Row]:
    """Make the rows from so many studies a cell."""
    rows = []
    for made in RULERS:
        levels = LEVELS if made.is_copy or made is RATER else LEVELS[1:2]
        for dice in levels:
            rows += _judge(made, dice, studies, rng)
    return rows


def _judge(made: Made, dice: float, studies: int, rng: np.random.Generator) -> list[Row]:
    """Count what is said of a ruler: by three maps, by a second expert on as many exams as asked for, by the truth."""
    found = [_study(made, dice, rng) for _ in range(studies)]
    at = f"{made.name}, model {dice:.2f} by the expert"
    close = [one["close"] for one in found]
    most = 0.05 if made is RATER else np.nan
    rows = [Row(at, "called too close", float(np.mean(close)), studies, made.close, most)]
    if dice != LEVELS[1]:
        return rows
    ratio = np.array([one["ratio"] for one in found])
    spread = float(ratio.std(ddof=1)) / np.sqrt(studies)
    what = "error by the expert, ruler / model"
    rows.append(Row(at, what, float(ratio.mean()), studies, error=spread))
    needed = np.array([one["needed"] for one in found], dtype=float)
    error = float(needed.std(ddof=1)) / np.sqrt(studies)
    rows.append(
        Row(at, "exams asked for of a second expert", float(needed.mean()), studies, error=error)
    )
    clear = made.shared != made.model
    for who in ("second expert", "truth"):
        for finding in ("copied", "sharper"):
            right = (finding == "copied") == made.is_copy
            told = float(np.mean([one[who] == finding for one in found]))
            least, most = (0.8, np.nan) if right else (np.nan, 0.05)
            bounds = {"at_least": least, "at_most": most} if clear else {}
            rows.append(Row(at, f"{finding}, by the {who}", told, studies, **bounds))
    return rows


def _study(made: Made, dice: float, rng: np.random.Generator) -> dict[str, object]:
    """Draw a study: errors of all five, the distances between maps that follow, and what is said."""
    sigma = np.sqrt(np.log1p(VARIATION**2))
    drawn = np.exp(sigma * rng.normal(size=(len(PARTS), EXAMS)) - sigma**2 / 2)
    means = (made.model, made.ruler, made.shared, made.expert, made.expert)
    model, ruler, shared, expert, second = (1 - dice) * np.array(means)[:, None] * drawn
    model_ruler = 1 - _part(model, ruler, rng)
    model_truth, ruler_truth = 1 - (model + shared), 1 - (ruler + shared)
    model_experts, ruler_experts = (
        np.stack([1 - _part(1 - by_truth, one, rng) for one in (expert, second)])
        for by_truth in (model_truth, ruler_truth)
    )
    expert_expert = 1 - _part(expert, second, rng)
    found = measure_closeness(model_ruler, model_experts[0], ruler_experts[0])
    needed = count_exams_needed(model_ruler, model_experts[0], ruler_experts[0], 0.95)
    k = min(needed or EXAMS, EXAMS)
    heard = hear_expert(
        "second",
        model_ruler[:k],
        expert_expert[:k],
        model_experts[:, :k],
        ruler_experts[:, :k],
    )
    return {
        "close": found.status == "too_close",
        "ratio": found.expert_ratio,
        "needed": np.nan if needed is None else needed,
        "second expert": heard.finding,
        "truth": hear_truth("truth", model_ruler, model_truth, ruler_truth).finding,
    }


def _part(first: np.ndarray, second: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Distance of two maps with these errors, which meet by chance in part of the smaller one."""
    meeting = rng.uniform(0, MEETING, first.shape) * np.minimum(first, second)
    return first + second - 2 * meeting


TOPIC = Topic(
    title="Copied or sharper: what labels can tell of a ruler",
    introduction=(
        f"{EXAMS} exams; every error log-normal over exams with a coefficient of variation of {VARIATION}. "
        "Model, ruler and experts err on their own, meeting by chance in up to a fifth of the smaller error; "
        "a copy shares most of the model's error. Distances between maps (1 - Dice) are sums of the errors "
        "that two maps do not share. *Too close* is asked of three maps: it finds copies at every level of "
        "Dice and leaves raters of equal noise alone, but two models that are both nearer to the truth than a "
        "noisy expert look like copies, too. The ratio of errors by the expert is 1 of a copy and below 1 of "
        "a ruler that is nearer to the truth than the model, but near 1 as well where the model is as good as "
        "the ruler. So three maps cannot tell. A second expert on as many exams as are asked for, or the "
        "truth, can: they estimate the share of the model's own error that the ruler repeats, and settle it "
        "where the interval leaves one half. Where exactly half is shared neither answer is wrong, and none "
        "is asked for."
    ),
    measure=measure,
    studies=400,
    measured=(
        "tworulers.diagnosis.closeness",
        "tworulers.diagnosis.witness",
        "tworulers.stats.interval",
    ),
)
