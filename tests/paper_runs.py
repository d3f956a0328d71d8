"""Audits and comparisons as large as those of the published protocol, shown in a store of their own."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from tworulers.runner.tracking import RunRecord, write_record
from tworulers.runner.tracking.publishing import publish
from tworulers.schema.settings import Tracking

ROOT = Path(__file__).parents[1]
SETTINGS = Tracking(name="local", experiment="toy")
GROUPINGS = list(yaml.safe_load((ROOT / "conf/attributes/paper.yaml").read_text())["groupings"])
OF_TEST = ("p", "p_fdr", "p_verdict_fdr", "p_permutation", "effect", "median_gap", "dpd", "dir")
METRICS, STRUCTURES = ("dice", "hd95", "ndsc"), ("macro", "vb", "disc")


def name_scores(quantities: Iterable[str]) -> dict[str, float]:
    return {
        f"{metric}/{structure}/{grouping}/{quantity}": 0.1
        for structure in STRUCTURES
        for metric in METRICS
        for grouping in GROUPINGS
        for quantity in quantities
    }


def make_audit(ruler: str, description: str) -> RunRecord:
    metrics = {"answers/differs": 5.0, "answers/differs_within_margin": 0.0}
    metrics |= {"answers/within_margin": 0.0, "answers/cannot_say": 58.0}
    metrics |= {f"family/main/{name}": 1.0 for name in ("significant", "size", "smallest_p")}
    metrics |= {"exams": 76.0, "patients": 70.0} | name_scores(OF_TEST)
    metrics |= {f"{metric}/{name}/mean": 0.9 for metric in METRICS for name in STRUCTURES}
    params = {f"attributes.groupings.g.{n}": n for n in range(94)}
    params |= {"audit.name": "paper", "audit.alpha": 0.05, "audit.seed": 0, "regime.name": "mix"}
    return RunRecord(
        "audit",
        f"audit · mix by {ruler}",
        f"**{description * 40}**\n\nJudged by {ruler}.",
        {"dataset": "phantom", "regime": "mix", "ruler": ruler, "provenance": ruler}
        | {"attributes": "paper"},
        params | {"ruler.name": ruler, "ruler.kind": "labels"},
        metrics,
        sibling_tag="ruler",
        inputs={"cohort": "abc", f"scores/mix/{ruler}": "def"},
    )


def make_comparison(description: str) -> RunRecord:
    metrics = {
        "flips/main/neither": 58.0,
        "flips/main/other_only": 5.0,
        "verdicts/main/too_close": 58.0,
    }
    return RunRecord(
        "compare",
        "rulers · mix: gold, silver",
        f"**{description * 40}**\n\nNo mechanism is shown.",
        {"regime": "mix", "base_ruler": "gold", "other_ruler": "silver", "status": "too_close"},
        metrics=metrics | name_scores(("gap_ratio", "noise_part", "swap_p_fdr", "vcr_mad")),
    )


def publish_paper_runs(
    root: Path,
    description: str = "Groups differ. ",
    names: Iterable[str] = ("gold", "silver", "truth", "rulers"),
    settings: Tracking = SETTINGS,
) -> dict[str, Any]:
    """Write three audits and the comparison of two, and show them; return the ids of their runs."""
    home, shown = root / "artifacts" / "phantom", {}
    (home / "comparisons").mkdir(parents=True, exist_ok=True)
    gathers = RunRecord("compare", "compare", "All.", {"dataset": "phantom"})
    write_record(gathers, home / "comparisons")
    for name in names:
        if name == "rulers":
            folder, record = (
                home / "comparisons/rulers/mix/gold_silver",
                make_comparison(description),
            )
        else:
            folder, record = home / "audits/mix" / name, make_audit(name, description)
        folder.mkdir(parents=True, exist_ok=True)
        pd.DataFrame({"group": ["F", "M"], "n": [20, 30]}).to_parquet(folder / "groups.parquet")
        write_record(record, folder)
        shown[name] = publish(folder, root, settings)
    return shown
