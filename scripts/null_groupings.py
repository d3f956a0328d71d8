"""How often groups that mean nothing look different: the share of seeded random groupings with p below alpha, by ruler.

Usage: python scripts/null_groupings.py artifacts/hippocampus mix
"""

import argparse
import math
from pathlib import Path

import pandas as pd

from tworulers.cohort.grouping import assign_groups
from tworulers.schema.sources import Grouping
from tworulers.stats.groups import group_sample
from tworulers.stats.ranks import compare_ranks


def main() -> None:
    """Test macro Dice between random groups, under every ruler that scored the regime."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", type=Path, help="the dataset's folder below artifacts/")
    parser.add_argument("regime")
    parser.add_argument("--groupings", type=int, default=200)
    parser.add_argument("--alpha", type=float, default=0.05)
    arguments = parser.parse_args()
    cohort = pd.read_parquet(arguments.dataset / "cohort" / "cohort.parquet")
    spread = math.sqrt(arguments.alpha * (1 - arguments.alpha) / arguments.groupings)
    for path in sorted((arguments.dataset / "scores" / arguments.regime).glob("*/scores.parquet")):
        scores = pd.read_parquet(path).query("structure == 'macro' and metric == 'dice'")
        if scores.empty:
            continue
        exams = cohort[cohort["exam_id"].isin(scores["exam_id"])]
        values = scores.set_index("exam_id")["value"].reindex(exams["exam_id"])
        for names in (["A", "B"], ["A", "B", "C"]):
            below = 0
            for seed in range(arguments.groupings):
                grouping = Grouping(title="random", kind="random", group_order=names, seed=seed)
                groups = assign_groups(exams, grouping).reindex(values.index)
                below += compare_ranks(group_sample(values, groups)).p < arguments.alpha
            print(
                f"{path.parent.name}: {len(names)} groups, {below} of {arguments.groupings} below {arguments.alpha} "
                f"({below / arguments.groupings:.3f}; {arguments.alpha} ± {2 * spread:.3f} expected)"
            )


if __name__ == "__main__":
    main()
