"""How often the embedded example's age verdict flips: the whole line on new cohorts, experts, splits and networks.

Each seed is a project of its own below --work with its own conf/, run by DVC with one configuration and one fold a
regime (3d_fullres, fold 0), so that a seed takes minutes; a finished seed is not run again. Prints and writes one row a
seed: scores under both rulers, within-group spread, effect sizes, p raw and adjusted, and the computed verdict.
"""

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import yaml

from tworulers.runner.graph.write import save_graph

ROOT = Path(__file__).resolve().parents[1]
SCORE = {"grouping": "age_3bin", "structure": "macro", "metric": "dice"}


def edit(path: Path, changes: dict[str, object]) -> None:
    """Change values of a YAML file; dots go down."""
    content = yaml.safe_load(path.read_text())
    for key, value in changes.items():
        *parents, last = key.split(".")
        place = content
        for parent in parents:
            place = place.setdefault(parent, {})
        place[last] = value
    path.write_text(yaml.safe_dump(content, sort_keys=False))


def run_seed(seed: int, work: Path) -> Path:
    """Run the line for one seed, going on where an earlier run stopped."""
    project = work / f"seed_{seed}"
    if not project.exists():
        shutil.copytree(ROOT / "conf", project / "conf")
        for name in ("dvc.yaml", ".dvcignore"):
            shutil.copy(ROOT / name, project)
        (project / "src").symlink_to(ROOT / "src")
        edit(
            project / "conf/dataset/phantom.yaml",
            {"phantom.seed": seed, "phantom.expert_seed": seed},
        )
        edit(project / "conf/split/phantom.yaml", {"seed": seed})
        edit(project / "conf/config.yaml", {"seed": seed, "processes": 1})
        changes = {
            "grid.configurations": ["3d_fullres"],
            "grid.folds": [0],
            "grid.rulers": ["gold", "silver"],
        }
        edit(project / "conf/grid.yaml", changes)
        save_graph(project)
        edit(project / "conf/tracking/local.yaml", {"enabled": False})
        subprocess.run(
            ["dvc", "init", "--no-scm", "--quiet"], cwd=project, check=True, env=environment()
        )
    with (project / "log.txt").open("w") as log:
        targets = ["compare"]
        done = subprocess.run(
            ["dvc", "repro", *targets],
            cwd=project,
            stdout=log,
            stderr=log,
            env=environment(),
            check=False,
        )
    if done.returncode:
        raise SystemExit(f"seed {seed} failed; see {project / 'log.txt'}")
    print(f"seed {seed} is done", flush=True)
    return project


def environment() -> dict[str, str]:
    """Let commands find the tools beside this Python."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
    }


def read_row(seed: int, project: Path) -> dict[str, object]:
    """Read what both rulers say of age in one project."""
    base = project / "artifacts" / "phantom"
    row: dict[str, object] = {"seed": seed}
    for ruler in ("gold", "silver"):
        tests = pick(pd.read_parquet(base / "audits" / "mix" / ruler / "tests.parquet"))
        scores = pick(
            pd.read_parquet(base / "scores" / "mix" / ruler / "scores.parquet"), SCORE, "grouping"
        )
        row |= {"n": len(scores), f"{ruler}_dice": scores["value"].mean()}
        test = tests.iloc[0]
        row |= {f"{ruler}_{name}": test[name] for name in ("effect", "p_verdict", "p_verdict_fdr")}
    compared = base / "comparisons" / "rulers" / "mix" / "gold_silver"
    row["sd_ratio"] = pick(pd.read_parquet(compared / "spread.parquet")).iloc[0]["vcr_sd"]
    row["verdict"] = pick(pd.read_parquet(compared / "verdicts.parquet")).iloc[0]["verdict"]
    row["flips"] = bool(row["gold_p_verdict_fdr"] >= 0.05 > row["silver_p_verdict_fdr"])  # type: ignore[operator]
    return row


def pick(table: pd.DataFrame, keys: dict[str, str] = SCORE, without: str = "") -> pd.DataFrame:
    """Keep the rows of age and macro Dice."""
    for column, value in keys.items():
        if column != without:
            table = table[table[column] == value]
    return table


def main() -> None:
    """Run the seeds, two at a time unless told otherwise, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument(
        "--work", type=Path, required=True, help="folder of the projects, kept between runs"
    )
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(arguments.parallel) as pool:
        projects = list(pool.map(lambda seed: run_seed(seed, arguments.work), arguments.seeds))
    table = pd.DataFrame(
        [read_row(seed, project) for seed, project in zip(arguments.seeds, projects, strict=True)]
    )
    table.to_csv(arguments.work / "seeds.csv", index=False)
    print(table.round(4).to_string(index=False))
    print(f"{int(table['flips'].sum())} of {len(table)} seeds flip")


if __name__ == "__main__":
    main()
