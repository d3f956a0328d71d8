"""How often what made a conclusion change is shown, and how often the wrong part: families of tests, corrected as
audits are.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats

from calibration.intervals import draw_noise
from calibration.rows import Row, Topic
from tworulers.battery.questions import Question
from tworulers.diagnosis.counterfactual import kruskal_of_values
from tworulers.diagnosis.disagreement import measure_disagreement
from tworulers.diagnosis.flips import tabulate_flips
from tworulers.diagnosis.known import RulerKnowledge
from tworulers.diagnosis.verdicts import MeasuredTest, settle_verdicts
from tworulers.metrics.registry import METRICS
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Relation
from tworulers.stats.families import adjust_p
from tworulers.stats.groups import pair_sample

SIZES = (21, 29, 26)
SCORES = 6
GAP, GAP_LOST = 0.6, 1.2
"""Exams by group, scores of a family, and the gap between outer groups in units of the noise: where a conclusion is
gained and where one is lost.
"""


LEVEL = 0.05
DRAWS = 400
SETTINGS = Audit(name="calibration", bootstrap_draws=DRAWS, permutations=DRAWS)
BATCH = 100
MOST_FAMILIES = 40_000
MACHINE = RulerKnowledge("silver")


@dataclass(frozen=True)
class Distortion:
    """What a ruler does to the scores of the first: factor and addition of the gap, factor of the noise, and the
    mechanism that would be the wrong one. Where `lost`, the flips judged are those away from significance.
    """

    name: str
    gap: float = 1.0
    added: float = 0.0
    noise: float = 1.0
    wrong: str = ""
    lost: bool = False

    @property
    def flip(self) -> str:
        """Which side alone is significant in the flips that are judged."""
        return "base_only" if self.lost else "other_only"

    @property
    def apart(self) -> float:
        """How far outer groups lie apart under the first ruler, in units of the noise."""
        return GAP_LOST if self.lost else GAP


RESCALED = (
    Distortion("everything x .25", 0.25, 0, 0.25),
    Distortion("everything x .5", 0.5, 0, 0.5),
    Distortion("everything x 2", 2, 0, 2, lost=True),
)
SAME = Distortion("same gap, same noise")
SHARPER = Distortion("noise x .25", noise=0.25, wrong="gap_part_shown")
WRONG = (
    Distortion("noise x .5", noise=0.5, wrong="gap_part_shown"),
    Distortion("noise x .7", noise=0.7, wrong="gap_part_shown"),
    Distortion("gap + .8", added=0.8, wrong="noise_part_shown"),
    Distortion("gap + 1.2, noise x 1.3", added=1.2, noise=1.3, wrong="noise_part_shown"),
    Distortion("gap x .2", gap=0.2, wrong="noise_part_shown", lost=True),
    Distortion("noise x 2.5", noise=2.5, wrong="gap_part_shown", lost=True),
)


RECORDED = (
    (Distortion("noise x .3", noise=0.3), 0.03, 0.8),
    (Distortion("noise x .4", noise=0.4), 0.012, np.nan),
)
"""Dice that are recorded with two decimals: what the ruler does, their spread, and what is asked. Under the second
ruler the spread of the last is half the unit of record, which no reading of it can mend.
"""


def measure(studies: int, rng: np.random.Generator) -> list[Row]:
    """Make the rows from so many flips a ruler."""
    rows, judged, opposite = [], 0, 0
    for ruler in (*RESCALED, SAME):
        found = judge_flips(ruler, studies, rng)
        bound = np.nan if ruler is SAME else 0.10
        rows.append(_share(ruler, "flips with a shown mechanism", _shown(found), at_most=bound))
    for ruler in (SHARPER, *WRONG):
        found = judge_flips(ruler, studies, rng)
        crosses = found[found["own_p_crosses"]]
        least = 0.75 if ruler is SHARPER else np.nan
        what = "flips whose own p crosses with a shown mechanism"
        rows.append(_share(ruler, what, _shown(crosses), at_least=least))
        judged += len(found)
        opposite += int((found["mechanism"] == ruler.wrong).sum())
    value = opposite / judged
    what = "flips of which the opposite part is shown"
    rows.append(Row("the rulers of the last seven rows", what, value, judged, at_most=0.005))
    rows += [_compare_decimals(*recorded, studies, rng) for recorded in RECORDED]
    return [*rows, *_accuse(studies, rng)]


def judge_flips(
    ruler: Distortion,
    flips: int,
    rng: np.random.Generator,
    known: RulerKnowledge = MACHINE,
    dice: tuple[float, int] | None = None,
) -> pd.DataFrame:
    """Judge flips that a ruler makes in families of tests, as a comparison does.

    Parameters
    ----------
    ruler : what it does to the scores.
    flips : at least so many are judged, whole families at a time.
    rng : source of chance.
    known : of the ruler.
    dice : scores are Dice of this spread, with so many decimals; None leaves them as they are.
    """
    judged: list[pd.DataFrame] = []
    for base, other in draw_families(ruler, rng, dice):
        rows = judge_family(base, other, known)
        judged.append(rows[rows["flip"] == ruler.flip])
        if sum(map(len, judged)) >= flips:
            break
    return pd.concat(judged, ignore_index=True)


def draw_families(
    ruler: Distortion, rng: np.random.Generator, dice: tuple[float, int] | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the scores (SCORES, n) of families with a flip, by both rulers.

    Scores share half of their variance; the other ruler's noise is correlated with the first's by .8.
    """
    codes = np.repeat(np.arange(3), SIZES)
    at, shape = np.array([0.0, 0.5, 1.0])[codes], (BATCH, SCORES, len(codes))
    for _ in range(MOST_FAMILIES // BATCH):
        noise, own = (
            (
                draw_noise("left-skewed", (BATCH, 1, len(codes)), rng)
                + draw_noise("left-skewed", shape, rng)
            )
            / np.sqrt(2)
            for _ in range(2)
        )
        base = ruler.apart * at + noise
        other = (ruler.gap * ruler.apart + ruler.added) * at + ruler.noise * (
            0.8 * noise + 0.6 * own
        )
        if dice is not None:
            base, other = (np.round(0.9 + dice[0] * side, dice[1]) for side in (base, other))
        first, second = (adjust_p(_test(side, codes)) < LEVEL for side in (base, other))
        flips = first & ~second if ruler.lost else second & ~first
        for family in np.flatnonzero(flips.any(axis=1)):
            yield base[family], other[family]


def judge_family(base: np.ndarray, other: np.ndarray, known: RulerKnowledge) -> pd.DataFrame:
    """Compare one family of tests under two rulers."""
    codes = np.repeat(np.arange(3), SIZES)
    flips = tabulate_flips(*(_tabulate_tests(side, codes) for side in (base, other)), LEVEL)
    measured = []
    for place, row in enumerate(flips.to_dict("records")):
        row |= {f"significant_{x}": row[f"p_verdict_fdr_{x}"] < LEVEL for x in ("base", "other")}
        sample = pair_sample(base[place], other[place], codes, ["a", "b", "c"])
        pair = Question("age", str(row["structure"]), METRICS["dice"], sample)
        measured.append(MeasuredTest(row, pair, measure_disagreement(pair, SETTINGS)))
    return pd.DataFrame(settle_verdicts(measured, "distinct", SETTINGS, known))


def _test(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """P of the audit's test of three groups, of scores (..., n)."""
    h = kruskal_of_values(scores.reshape(-1, scores.shape[-1]), codes)
    return np.asarray(stats.chi2.sf(h, 2)).reshape(scores.shape[:-1])


def _tabulate_tests(scores: np.ndarray, codes: np.ndarray) -> pd.DataFrame:
    p = _test(scores, codes)
    adjusted = adjust_p(p)
    table = pd.DataFrame({"structure": [f"s{i}" for i in range(len(p))], "p": p, "p_fdr": adjusted})
    table = table.assign(grouping="age", metric="dice", family="main", verdict_by="exam")
    return table.assign(p_verdict=p, p_verdict_fdr=adjusted, verdict_undefined_because=None)


def _compare_decimals(
    ruler: Distortion, spread: float, least: float, flips: int, rng: np.random.Generator
) -> Row:
    """Compare how often a mechanism is shown where scores have two decimals, and four."""
    shares, errors = [], []
    for decimals in (2, 4):
        found = judge_flips(ruler, flips, rng, dice=(spread, decimals))
        shown = _shown(found[found["own_p_crosses"]])
        shares.append(float(np.mean(shown)))
        errors.append(float(np.std(shown)) / np.sqrt(len(shown)))
    ratio = shares[0] / max(shares[1], 1e-9)
    error = float(np.hypot(errors[0], ratio * errors[1])) / max(shares[1], 1e-9)
    what = "mechanism shown with two decimals, of the share with four"
    where = f"Dice of spread {spread}, {ruler.name}"
    return Row(where, what, ratio, flips, at_least=least, error=error)


def _accuse(flips: int, rng: np.random.Generator) -> list[Row]:
    """Count accusations of a consensus whose noise is a third and a fifth of one expert's, by what is known of it."""
    rows = []
    ways = {
        "declared so": RulerKnowledge("gold"),
        "as a machine ruler of unknown origin": MACHINE,
        "declared to share training data": RulerKnowledge("silver", Relation.SHARES_TRAINING),
    }
    for experts in (9, 25):
        ruler = Distortion("consensus", noise=experts**-0.5)
        for said, known in ways.items():
            found = judge_flips(ruler, max(flips // 3, 8), rng, known)
            false = found["verdict"].str.startswith("false") | found["verdict"].eq("mixed")
            bound = np.nan if known.may_be_false else 0.0
            scenario = f"consensus of {experts} experts, {said}"
            share, count = float(false.mean()), len(false)
            rows.append(Row(scenario, "flips called false", share, count, at_most=bound))
    return rows


def _shown(found: pd.DataFrame) -> np.ndarray:
    return found["mechanism"].str.endswith("_shown").to_numpy()


def _share(ruler: Distortion, what: str, happened: np.ndarray, **bounds: float) -> Row:
    way = "from significance" if ruler.lost else "to significance"
    return Row(f"{ruler.name}, {way}", what, float(np.mean(happened)), len(happened), **bounds)


def _list_sizes() -> str:
    return ", ".join(map(str, SIZES))


TOPIC = Topic(
    title="What made a conclusion change",
    introduction=(
        f"Families of {SCORES} scores of {sum(SIZES)} exams in three groups ({_list_sizes()}), "
        f"left-skewed, any two correlated by .5; outer groups lie {GAP} spreads apart ({GAP_LOST} where "
        "conclusions are lost) under the first ruler. The second ruler's noise is correlated with the "
        "first's by .8 and changed as the row says. p by Kruskal and Wallis, corrected by Benjamini and "
        "Hochberg over the family on either side, and so is the p of exchanging the rulers. Only flips are "
        "judged. A mechanism is shown where the test's own p crosses the level with the rest of the family "
        "kept, the change is beyond chance, and a part moved. The last rows count how often a ruler with "
        "less noise, which is no copy, is called false, by what is known of it."
    ),
    measure=measure,
    studies=300,
    measured=(
        "tworulers.diagnosis.mechanism",
        "tworulers.diagnosis.verdicts",
        "tworulers.diagnosis.disagreement",
        "tworulers.diagnosis.counterfactual",
        "tworulers.diagnosis.flips",
        "tworulers.stats.dispersion",
    ),
)
