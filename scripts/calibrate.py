"""Measure the error rates of tests, intervals and the ruler diagnosis, and write
docs/calibration.md.
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
from calibration.anchored import calibrate_anchored
from calibration.diagnosis import calibrate_diagnosis, tabulate_confusion
from calibration.family import calibrate_family
from calibration.intervals import calibrate_gap, calibrate_rate_difference, calibrate_ratio

from tworulers.stats.resample import named_stream

ROOT = Path(__file__).parents[1]
ENOUGH = 15
LIGHT = ("normal", "skewed (log-normal .3)")
QUICK = {"families": 400, "studies": 200, "draws": 400, "flips": 12, "cell": 300, "anchored": 1200}
FULL = {
    "families": 4000,
    "studies": 2000,
    "draws": 2000,
    "flips": 60,
    "cell": 2000,
    "anchored": 10000,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--full", action="store_true", help="more draws: an hour instead of minutes"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "calibration.md")
    parser.add_argument(
        "--scores",
        type=Path,
        action="append",
        default=[],
        help="CSV, one row an exam, scores numeric",
    )
    asked = parser.parse_args()
    effort = FULL if asked.full else QUICK
    started = time.process_time()
    parts = [_introduce(effort, asked.seed)]
    for title, write in (
        ("Families under permuted labels", lambda rng: family(asked.scores, effort, rng)),
        ("Intervals of DIR", lambda rng: ratio(effort, rng)),
        ("Intervals of differences and gaps", lambda rng: gaps(effort, rng)),
        ("The diagnosis of flips", lambda rng: diagnosis(effort, rng)),
        ("Gold-anchored means", lambda rng: anchored(effort, rng)),
    ):
        begun = time.process_time()
        parts.append(f"## {title}\n\n{write(named_stream(asked.seed, title))}")
        print(f"{title}: {time.process_time() - begun:.0f} s", file=sys.stderr, flush=True)
    parts[0] += f" It took {(time.process_time() - started) / 60:.1f} minutes of one core."
    asked.out.parent.mkdir(exist_ok=True)
    asked.out.write_text("\n\n".join(parts) + "\n")


def family(paths: list[Path], effort: dict[str, int], rng: np.random.Generator) -> str:
    """Describe how often a family of true nulls has a discovery."""
    found = calibrate_family(read_shapes(paths), effort["families"], rng)
    worst = found["any discovery"].max()
    return (
        "People of the published cohort's make-up (seven groupings; three codings of race and two "
        "of age kept consistent) are set beside the scores at random, so no difference is real. At "
        "most 5 % of families may then hold an adjusted p below .05; the largest share is "
        f"{worst:.3f}.\n\n{_table(found)}"
    )


def read_shapes(paths: list[Path]) -> dict[str, pd.DataFrame]:
    """Read tables of scores: the simulated ones that the tests use, and those given."""
    simulated = json.loads((ROOT / "tests" / "golden" / "e2_rulers.json").read_text())
    shapes = {
        f"simulated, {ruler}": pd.DataFrame(simulated[ruler] | simulated["hd95"][ruler])
        for ruler in ("gold", "silver")
    }
    for path in paths:
        shapes[path.stem] = pd.read_csv(path).select_dtypes("number").dropna(axis="columns")
    return shapes


def ratio(effort: dict[str, int], rng: np.random.Generator) -> str:
    """Describe the intervals of DIR."""
    found = calibrate_ratio(effort["draws"], effort["studies"], rng)
    inner = found[found["true DIR"] < 1]
    large = inner["n"].map(lambda sizes: min(map(int, sizes.split(" / "))) >= ENOUGH)
    return (
        "`pooled` draws exams over the whole set, as the published audit did; `exact` enumerates "
        "all tables with group sizes fixed, and its coverage for two groups is exact. Where the "
        "true DIR is 1 no coverage is claimed: a minimum over a maximum cannot straddle its own "
        f"bound. Worst coverage of a nominal .95, all groups of {ENOUGH} exams or more: "
        f"{_worst(inner[large])}. With a smaller group: {_worst(inner[~large])}; no interval of "
        "DIR holds there, and the degenerate ones say nothing. So the interval recommended beside "
        "the published BCa is the **exact percentile** one (its best worst case; nothing random), "
        "and for a group of fewer exams **Newcombe's interval of the difference of rates** (next "
        f"section), whose worst case over the same grid is best of all.\n\n{_table(found)}"
    )


def _worst(found: pd.DataFrame) -> str:
    worst = found.groupby("interval")["coverage"].min().sort_values(ascending=False)
    return ", ".join(f"{name} {value:.3f}" for name, value in worst.items())


def gaps(effort: dict[str, int], rng: np.random.Generator) -> str:
    """Describe the intervals of differences and gaps."""
    rates, located = (
        calibrate_rate_difference(),
        calibrate_gap(effort["draws"], effort["studies"], rng),
    )
    return (
        "Newcombe's interval of a difference of rates, exact; worst coverage "
        f"{rates['coverage'].min():.3f}:\n\n{_table(rates)}\n\n"
        "Bootstrap intervals of locations, last group less first. A gap of medians is never "
        "negative, so that its interval cannot hold 0: it is a size, not a test. Differences of "
        "medians hold their level best; means of a small group with a long tail do not.\n\n"
        + _table(located)
    )


def diagnosis(effort: dict[str, int], rng: np.random.Generator) -> str:
    """Describe which mode the diagnosis names."""
    judged = calibrate_diagnosis(effort["cell"], effort["flips"], effort["draws"], (76, 200), rng)
    pure = judged[~judged["mode"].isin(["both", "neither"])]
    neither = judged[judged["mode"] == "neither"]
    silent = ["unattributed", "not_shown"]
    named = float((~neither["verdict"].isin(silent)).mean())
    scaled = neither[neither["ruler"].str.startswith("everything")]
    rescaled = float((~scaled["verdict"].isin(silent)).mean())
    cells = tabulate_confusion(pure, ["mode", "gap (SD)", "n", "correlation", "level"])
    parts = [
        "Three groups, left-skewed noise; the other ruler's noise is correlated with the first's "
        "by .5 or .95; gaps and additions in units of the spread, over the three groups in equal "
        "steps; tests at .05 and, as after a correction, at .005. Only flips are judged. Of the "
        f"flips that one mode made alone, {pure['opposite'].mean():.3f} get the opposite mode (at "
        f"most {cells['opposite'].max():.3f} in any cell below); of those that neither made, "
        f"{named:.3f} get a mode, and of those of a ruler that rescales everything {rescaled:.3f}. "
        "*Unattributed* and *not shown* claim nothing; a single test has no family, so that here "
        "*not shown* means that the change of the test is within chance by exchanging the rulers at "
        ".05."
    ]
    for direction in ("to significance", "from significance"):
        part = judged[judged["direction"] == direction]
        parts += [f"Flips {direction}:", _table(tabulate_confusion(part, ["mode", "ruler"]))]
    parts += ["By effect, size, correlation and level:", _table(cells)]
    return "\n\n".join(parts)


def anchored(effort: dict[str, int], rng: np.random.Generator) -> str:
    """Describe the intervals of gold-anchored means."""
    found = calibrate_anchored(effort["anchored"], 200, rng)
    stated = found[(found["correlation"] > 0.3) & (found["gold exams"] >= 30)]
    light = stated["shape"].isin(LIGHT)
    said = []
    for name, part in (("light", stated[light]), ("heavier", stated[~light])):
        columns = ("coverage", "coverage of gold alone", "width / gold alone")
        spans = [f"{part[column].min():.3f} to {part[column].max():.3f}" for column in columns]
        said.append(
            f"Under {name} tails they cover {spans[0]} (gold alone {spans[1]}) and are {spans[2]} "
            "times as wide."
        )
    return (
        "Correlation above .3 and at least 30 gold exams; widths are means over studies. "
        + " ".join(said)
        + " Where single failures decide the mean, no t interval from 30 exams covers as often as "
        "it says, and the gold-anchored one shares that fault.\n\n" + _table(found)
    )


def _introduce(effort: dict[str, int], seed: int) -> str:
    command = "python scripts/calibrate.py" + (" --full" if effort is FULL else "")
    numbers = ", ".join(f"{name} {value}" for name, value in effort.items())
    return (
        "# Calibration: how often tests, intervals and diagnoses are right\n\n"
        f"Written by `{command} --seed {seed}` ({numbers})."
    )


def _table(frame: pd.DataFrame) -> str:
    def cell(value: object) -> str:
        return f"{value:.3f}" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(map(str, frame.columns)) + " |", "|---" * frame.shape[1] + "|"]
    lines += ["| " + " | ".join(map(cell, row)) + " |" for row in frame.itertuples(index=False)]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
