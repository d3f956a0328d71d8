"""How much faster the audit is than a plain loop over scipy.stats.bootstrap and data-frame slices.

Both sides run in this process on one core and are timed by processor seconds. The audit runs in
full: 63 tests of 76 simulated exams, 10,000 BCa draws and 10,000 permutations each, and also power,
gaps and tables, which the loop lacks. The loop does BCa of DIR by scipy.stats.bootstrap, and
permutes labels, one data-frame slice a draw. It would take hours, so it is timed on a few tests
with few draws and scaled by the number of draws, in which it is linear.

Then two rulers' audits and their comparison, with power, the joint model and all that stands beside the published
part, are timed part by part.

    benchmarks/run battery [--seconds 60 | --parts]
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _parts import watch_parts
from _rows import Row, keep_row
from _timing import peak_gib
from scipy import stats

from tworulers.battery.audit import audit_scores
from tworulers.diagnosis.comparison import Audited, compare_rulers
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes

DRAWS = 10_000
GROUPINGS = {
    "sex": 2,
    "race_wb": 2,
    "race_wbo": 3,
    "race_wn": 2,
    "age_3bin": 3,
    "age_median": 2,
    "ethnicity": 2,
}
THRESHOLDS = {"dice": 0.8, "ndsc": 0.8, "hd95": 5.0}


def simulate(n: int = 76, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Simulate scores of three metrics and structures, and seven groupings, for n exams."""
    rng = np.random.default_rng(seed)
    exams = [f"e{i:03d}" for i in range(n)]
    rows = []
    for metric in THRESHOLDS:
        structures = {s: 1 - rng.lognormal(-2.4, 0.5, n).clip(0, 0.9) for s in ("vb", "disc")}
        structures["macro"] = (structures["vb"] + structures["disc"]) / 2
        for structure, share in structures.items():
            value = 20 * (1 - share) if metric == "hd95" else share
            rows.append(
                pd.DataFrame(
                    {"exam_id": exams, "structure": structure, "metric": metric, "value": value}
                )
            )
    scores = pd.concat(rows, ignore_index=True)
    scores = scores.assign(regime="mix", ruler="gold", provenance="gold", undefined_because=None)
    groups = {
        name: pd.Categorical.from_codes(
            rng.integers(0, k, n), [f"g{i}" for i in range(k)], ordered=True
        )
        for name, k in GROUPINGS.items()
    }
    return scores, pd.DataFrame(groups, index=exams)


def run_audit(scores: pd.DataFrame, groups: pd.DataFrame) -> float:
    """Processor seconds of the whole audit."""
    settings = Audit(thresholds=THRESHOLDS, bootstrap_draws=DRAWS, permutations=DRAWS, linear=False)
    patients = pd.Series(groups.index, groups.index)
    start = time.process_time()
    audit_scores(scores, groups, patients, settings, Attributes("bench", resampling_unit="exam"))
    return time.process_time() - start


def run_comparison(groups: pd.DataFrame) -> dict[str, float]:
    """Processor seconds of two audits and their comparison, by part."""
    terms = ["sex", "race_wbo", "age_3bin"]
    settings = Audit(
        thresholds=THRESHOLDS,
        bootstrap_draws=DRAWS,
        permutations=DRAWS,
        linear_terms=terms,
        margin={"dice": 2, "ndsc": 2, "hd95": 1, "failures": 10},
    )
    patients = pd.Series(groups.index, groups.index)
    attributes = Attributes("bench", resampling_unit="exam")
    scores = [simulate(seed=seed)[0].assign(ruler=name) for seed, name in enumerate(("a", "b"))]
    with watch_parts() as clock:
        audits = [audit_scores(one, groups, patients, settings, attributes) for one in scores]
        audited = [
            Audited(one, found.tests, found.disparities)
            for one, found in zip(scores, audits, strict=True)
        ]
        compare_rulers(*audited, groups, settings, patients=patients)
    return clock.seconds


def tell_parts(groups: pd.DataFrame) -> None:
    """Print what each part of two audits and their comparison takes, the largest first."""
    found = [run_comparison(groups) for _ in range(3)]
    parts = {part: float(np.median([one[part] for one in found])) for part in found[0]}
    total = float(np.median([sum(one.values()) for one in found]))
    print(f"two rulers, 63 tests, 76 exams, compared: {total:.1f} s of processor time")
    for part, seconds in sorted(parts.items(), key=lambda one: -one[1]):
        print(f"  {seconds:5.1f} s  {part}")


def impact_ratio(frame: pd.DataFrame) -> float:
    """DIR as one writes it first: slice the frame by group."""
    rates = [frame[frame["group"] == group]["success"].mean() for group in frame["group"].unique()]
    return min(rates) / max(rates)


def run_loop(frame: pd.DataFrame, draws: int, rng: np.random.Generator) -> float:
    """Processor seconds of one test's BCa interval and label permutation, by data-frame slices."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stats.bootstrap(
            (np.arange(len(frame)),),
            lambda rows: impact_ratio(frame.iloc[rows]),
            n_resamples=draws,
            vectorized=False,
            method="BCa",
            rng=rng,
        )
    for _ in range(draws):
        shuffled = frame.assign(group=rng.permutation(frame["group"].to_numpy()))
        impact_ratio(shuffled)
    return time.process_time() - start


def main() -> None:
    """Time both sides and print the ratio with its spread."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="wall-clock budget of the loop")
    parser.add_argument("--parts", action="store_true", help="time the parts alone, not the loop")
    parser.add_argument("--keep", type=Path, help="file that the row is added to")
    asked = parser.parse_args()
    seconds = asked.seconds
    scores, groups = simulate()
    run_audit(scores[scores["structure"] == "macro"], groups[["sex"]])  # imports and first calls
    tell_parts(groups)
    if asked.parts:
        return
    ours = np.array([run_audit(scores, groups) for _ in range(3)])
    rng, draws, loop = np.random.default_rng(1), 60, []
    end = time.monotonic() + seconds
    while time.monotonic() < end or len(loop) < 5:
        name = rng.choice(list(GROUPINGS))
        metric, structure = rng.choice(list(THRESHOLDS)), rng.choice(["vb", "disc", "macro"])
        part = scores[(scores["metric"] == metric) & (scores["structure"] == structure)]
        value, threshold = part["value"].to_numpy(), THRESHOLDS[metric]
        success = value < threshold if metric == "hd95" else value > threshold
        frame = pd.DataFrame(
            {"group": groups[name].astype(str).to_numpy(), "success": success.astype(float)}
        )
        # BCa's jackknife is done once whatever the number of draws, so it is not scaled
        once = run_loop(frame, 1, rng)
        loop.append(((run_loop(frame, draws, rng) - once) / (draws - 1) * DRAWS + once) * 63)
    low, high = np.quantile(loop, [0.05, 0.95]) / np.median(ours)
    audit, plain = np.median(ours), np.median(loop)
    print(f"audit, 63 tests, {DRAWS:,} draws and permutations: {audit:.1f} s, {len(ours)} runs")
    print(f"  from {ours.min():.1f} to {ours.max():.1f} s")
    print(f"plain loop, scaled from {len(loop)} tests of {draws} draws: {plain / 60:.0f} min")
    print(f"ratio {plain / audit:,.0f} (5 to 95 % of the loop's tests: {low:,.0f} to {high:,.0f})")
    peak = peak_gib() * 1024
    print(f"most memory of this process: {peak:,.0f} MiB")
    said = (
        f"Scaled from {len(loop)} tests of {draws} draws; the loop's own answers are not compared."
    )
    keep_row(
        Row("battery", "benchmarks/run battery", (audit,), (plain,), peak, None, said), asked.keep
    )


if __name__ == "__main__":
    main()
