"""One study, however it arrives: folders of label maps, ready tables and the pipeline's files tell the same."""

import json
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from tworulers.io.paths import Layout
from tworulers.io.records import write_table
from tworulers.schema.settings import Audit, Grid, Paths, Regime, Ruler, Settings
from tworulers.schema.sources import (
    Attributes,
    Dataset,
    Grouping,
    PredictedModel,
    Predictions,
    Reference,
    ScoreTable,
)
from tworulers.stages.audit import audit
from tworulers.stages.compare import compare
from tworulers.stages.judge import judge
from tworulers.stages.report import report

pytestmark = pytest.mark.slow

N = 24
EXAMS = [f"e{i:02}" for i in range(N)]
SEXES = ["F", "M"] * (N // 2)
SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
STRUCTURES = ["vb", "disc", "macro"]
WIDTHS = {
    "v1": [6] * N,
    "v2": [6 + (i % 2) for i in range(N)],
    "gold": [6 + i % 5 for i in range(N)],
    "silver": [6 + (i + i // 2) % 4 for i in range(N)],
}
"""How wide each mask is in every exam: the second model is a voxel wider in men."""


def draw(width: int) -> np.ndarray:
    label = np.zeros((14, 12, 4), np.uint8)
    label[2 : 2 + width, 2:9, 1:3] = 1
    label[2 : 2 + width, 9:11, 1:3] = 2
    return label


def overlap(model: str, reference: str) -> np.ndarray:
    """Dice of every exam, by hand: both structures are as wide as the mask."""
    first, second = (np.array(WIDTHS[name], dtype=float) for name in (model, reference))
    return 2 * np.minimum(first, second) / (first + second)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    for name, widths in WIDTHS.items():
        (folder / name).mkdir()
        for exam, width in zip(EXAMS, widths, strict=True):
            image = nib.Nifti1Image(draw(width), np.diag([1.0, 1.0, 3.0, 1.0]))
            nib.save(image, folder / name / f"{exam}.nii.gz")
    people = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS, "sex": SEXES})
    people.to_csv(folder / "exams.csv", index=False)
    return folder


def ask(data: Path) -> Settings:
    settings = Audit(
        "test", metrics=["dice", "hd95"], structures=STRUCTURES, thresholds={"dice": 0.85, "hd95": 3},
        bootstrap_draws=100, permutations=50, power_draws=10, linear=False,
    )  # fmt: skip
    given = Predictions(
        name="mix",
        folder=str(data / "v1"),
        references={name: Reference(str(data / name), name) for name in ("gold", "silver")},
        structures={"vb": 1, "disc": 2},
        cohort=str(data / "exams.csv"),
    )
    return Settings(
        dataset=Dataset("made_up", structures={"vb": 1, "disc": 2}),
        attributes=Attributes("sexes", groupings={"sex": SEX}),
        audit=settings,
        predictions=given,
        regime=Regime("mix"),
        grid=Grid(regimes=["mix"], rulers=["gold", "silver"], base_ruler="gold"),
        paths=Paths("repro"),
        processes=1,
    )


def judge_folders(data: Path, root: Path, **more: object) -> Path:
    settings = ask(data)
    settings.predictions = replace(settings.predictions, **more)  # type: ignore[arg-type]
    return judge(settings, Layout.of(settings, root))[0]


def write_csv(scores: pd.DataFrame, path: Path, **more: str) -> str:
    scores = scores[scores["metric"].isin(["dice", "hd95"])]
    table = scores[["exam_id", "structure", "metric", "value"]].assign(**more)
    table["sex"] = table["exam_id"].map(dict(zip(EXAMS, SEXES, strict=True)))
    table.to_csv(path, index=False)
    return str(path)


def lay_out(scores: dict[str, pd.DataFrame], layout: Layout) -> None:
    """Leave scores and their exams as the stages of the pipeline do."""
    people = pd.DataFrame({"exam_id": EXAMS, "patient_id": EXAMS, "sex": SEXES})
    people = people.assign(
        image="i", label="l", provenance="gold", age=50.0, age_over_89=False, race=None,
        ethnicity=None, manufacturer=None, field_strength_t=3.0, spacing="1x1x1", shape="2x2x2",
    )  # fmt: skip
    write_table(people, layout.cohort_table)
    for name, table in scores.items():
        write_table(table, layout.score_table("mix", name))


def list_callers() -> list[str]:
    """The names of the functions that are being called."""
    frame, names = sys._getframe(), list[str]()
    while (caller := frame.f_back) is not None:
        frame = caller
        names.append(frame.f_code.co_name)
    return names


@contextmanager
def counting(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Count how often each table and each JSON file is read, but for those still being written beside, and digests."""
    read: Counter[str] = Counter()
    original, on = pd.read_parquet, [True]

    def read_parquet(path: object, *given: object, **named: object) -> pd.DataFrame:
        read.update([str(path)] * isinstance(path, str | Path))
        return original(path, *given, **named)

    def note(event: str, details: tuple[object, ...]) -> None:
        if on and event == "open" and details[1] in ("r", "rb"):
            place = Path(str(details[0]))
            whole = place.suffix in (".json", ".parquet") and not place.name.startswith(".")
            digested = "digest_file" in list_callers()
            read.update([str(place)] * (whole and not digested))

    monkeypatch.setattr(pd, "read_parquet", read_parquet)
    sys.addaudithook(note)
    try:
        yield read
    finally:
        on.clear()


def find_repeated(read: Counter[str]) -> list[str]:
    return [path for path, often in read.items() if often > 1]


@pytest.fixture(scope="module")
def answers(data: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    """Folders of both audits and of the comparison, by how the same exams arrived."""
    root = tmp_path_factory.mktemp("project")
    judged = judge_folders(data, root)
    scores = {
        name: pd.read_parquet(judged / "scores" / "mix" / name / "scores.parquet")
        for name in ("gold", "silver")
    }
    found = {
        "folders": {name: judged / "audits" / "mix" / name for name in scores}
        | {"compared": judged / "comparisons/rulers/mix/gold_silver"}
    }
    specs = {
        name: ScoreTable(write_csv(table, root / f"{name}.csv"), "long", provenance=name)
        for name, table in scores.items()
    }
    settings = ask(data)
    layout = Layout.of(settings, root)
    found["tables"] = {}
    for name, spec in specs.items():
        found["tables"][name] = audit(replace(settings, scores=spec), layout)[0]
    both = replace(settings, scores=specs["gold"], against=specs["silver"])
    found["tables"]["compared"] = compare(both, layout)[0]
    lay_out(scores, layout)
    for name in scores:
        ruler = Ruler(name, "", "gold" if name == "gold" else "predictions", name)
        audit(replace(settings, ruler=ruler), layout)
    compare(settings, layout)
    found["pipeline"] = {name: layout.audit("mix", name) for name in scores}
    found["pipeline"]["compared"] = layout.comparisons / "rulers" / "mix" / "gold_silver"
    return found


@pytest.mark.parametrize("way", ["tables", "pipeline"])
def test_the_same_exams_give_the_same_tables_however_they_arrive(
    answers: dict[str, dict[str, Path]], way: str
) -> None:
    wanted = {"gold": ["tests", "rates", "disparities", "groups", "differences", "power"]}
    wanted["silver"] = wanted["gold"]
    wanted["compared"] = ["verdicts", "flips", "inflation", "spread", "decomposition"]
    for what, names in wanted.items():
        for name in names:
            first, second = (
                pd.read_parquet(answers[loader][what] / f"{name}.parquet")
                for loader in ("folders", way)
            )
            assert len(first), name
            pd.testing.assert_frame_equal(first, second, obj=f"{name} of {what}")


def test_nothing_is_read_twice_in_a_command(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = ask(data)
    layout = Layout.of(settings, tmp_path)
    with counting(monkeypatch) as read:
        judged = judge_folders(data, tmp_path)
    assert not read, "a judgement reads nothing of what it writes"
    names = ("gold", "silver")
    lay_out({n: pd.read_parquet(judged / f"scores/mix/{n}/scores.parquet") for n in names}, layout)
    for name in names:
        ruler = Ruler(name, "", "gold" if name == "gold" else "predictions", name)
        with counting(monkeypatch) as read:
            audit(replace(settings, ruler=ruler), layout)
        assert set(map(Path, read)) == {layout.cohort_table, layout.score_table("mix", name)}
        assert not find_repeated(read)
    for stage in (compare, report):
        with counting(monkeypatch) as read:
            stage(settings, layout)
        assert not find_repeated(read)
        assert read[str(layout.cohort_table)] == 1
        assert read[str(layout.audit("mix", "gold") / "ruler.json")] == 1
        assert read[str(layout.score_table("mix", "gold"))] == 1


def expect(values: np.ndarray) -> list[float]:
    """Mean paired difference with its t interval, and n."""
    low, high = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    return [len(values), values.mean(), low, high]


def check_models(folder: Path) -> None:
    """Hold a comparison of both models to a calculation by hand."""
    first, second = overlap("v1", "gold"), overlap("v2", "gold")
    figures = ["n", "mean", "mean_low", "mean_high"]
    differences = pd.read_parquet(folder / "differences.parquet").set_index(["structure", "metric"])
    found = differences.loc["vb", "dice"]
    assert found[figures].tolist() == pytest.approx(expect(second - first))
    groups = pd.read_parquet(folder / "by_group.parquet").set_index(
        ["structure", "metric", "group"]
    )
    for place, group in enumerate(("F", "M")):
        part = (second - first)[place::2]
        row = groups.loc["macro", "dice", group]
        if part.any():
            assert row[figures].tolist() == pytest.approx(expect(part))
        else:
            assert row[figures].tolist() == [N // 2, 0, 0, 0]
    gaps = [abs(np.median(x[::2]) - np.median(x[1::2])) for x in (first, second)]
    row = (
        pd.read_parquet(folder / "gaps.parquet")
        .set_index(["structure", "metric"])
        .loc["vb", "dice"]
    )
    assert row["gap_change"] == pytest.approx(gaps[1] - gaps[0])
    assert row["gap_change_low"] <= row["gap_change"] <= row["gap_change_high"]


@pytest.fixture(scope="module")
def two_models(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = {name: PredictedModel(str(data / name)) for name in ("v1", "v2")}
    return judge_folders(data, tmp_path_factory.mktemp("two"), folder=None, models=models)


def test_two_models_under_one_ruler_from_folders(
    two_models: Path, data: Path, tmp_path: Path
) -> None:
    check_models(two_models / "comparisons/regimes/gold/v1_v2")
    page = (two_models / "report/index.html").read_text()
    section = page[page.index('<section id="by-group"') :]
    by_group = section[: section.index("</section>")]
    assert "v2 minus v1, exam by exam" in by_group
    assert all(f">{group}<" in by_group for group in ("F", "M"))
    assert (two_models / "comparisons/rulers/v2/gold_silver/verdicts.parquet").is_file()
    assert (two_models / "audits/v2/silver/tests.parquet").is_file()
    summary = json.loads((two_models / "summary.json").read_text())["models"]
    assert summary["v2"]["references"]["gold"]["exams"] == N
    assert (two_models / "report/index.html").is_file()
    models = {"v1": PredictedModel(str(data / "v1"))}
    with pytest.raises(ValueError, match=r"predictions\.folder and predictions\.models"):
        judge_folders(data, tmp_path, models=models)


def test_two_models_under_one_ruler_from_tables(
    two_models: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {
        name: pd.read_parquet(two_models / "scores" / name / "gold" / "scores.parquet")
        for name in ("v1", "v2")
    }
    settings = ask(data)
    layout = Layout.of(settings, tmp_path)
    specs = [
        ScoreTable(
            write_csv(table, tmp_path / f"{name}.csv"), "long", provenance="gold", model=name
        )
        for name, table in scores.items()
    ]
    folder, record = compare(replace(settings, scores=specs[0], against=specs[1]), layout)
    check_models(folder)
    assert record.name == "regimes · v1, v2 by gold"
    said = capsys.readouterr().out
    assert "v2 minus v1, exam by exam" in said
    assert "of v2 minus v1 is" in said
    both = tmp_path / "both.csv"
    parts = [pd.read_csv(spec.file).assign(net=spec.model) for spec in specs]
    pd.concat(parts).to_csv(both, index=False)
    long = ScoreTable(str(both), "long", {"model": "net"}, provenance="gold")
    check_models(compare(replace(settings, scores=long), layout)[0])
    with pytest.raises(ValueError, match=r"holds scores of v1, v2; an audit is of one model"):
        audit(replace(settings, scores=long), layout)
    silver = replace(specs[1], provenance="silver")
    with pytest.raises(ValueError, match="differ in the model and in the ruler"):
        compare(replace(settings, scores=specs[0], against=silver), layout)
