"""Ready tables make one study: two rulers of one model, two models by one ruler, or a column of models."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tworulers.ingest.faults import IngestError
from tworulers.ingest.study_tables import load_tables
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes, Grouping, ScoreTable

SEX = Grouping("Sex", "levels", "sex", {"F": ["F"], "M": ["M"]}, group_order=["F", "M"])
ATTRIBUTES = Attributes("sexes", groupings={"sex": SEX})
AUDIT = Audit("test", metrics=["dice"], bootstrap_draws=50, permutations=10, linear=False)
V1 = np.linspace(0.7, 0.9, 20)


def write(folder: Path, name: str, dice: np.ndarray, **more: object) -> str:
    people = {
        "exam_id": [f"e{i:02}" for i in range(len(dice))],
        "sex": ["F", "M"] * (len(dice) // 2),
    }
    pd.DataFrame({**people, "dice_disc": dice, **more}).to_csv(folder / name, index=False)
    return str(folder / name)


def test_the_faults_of_both_tables_are_one_list_with_the_settings_of_each(tmp_path: Path) -> None:
    files = write(tmp_path, "a.csv", V1 + 1), write(tmp_path, "b.csv", -V1)
    tables = [ScoreTable(f, provenance=p) for f, p in zip(files, ("gold", "silver"), strict=True)]
    with pytest.raises(IngestError) as caught:
        load_tables(tables, AUDIT, ATTRIBUTES)
    first, second = (
        [line for line in str(caught.value).splitlines() if name in line]
        for name in ("a.csv", "b.csv")
    )
    assert "declare the code in scores.missing" in first[0]
    assert "declare the code in against.missing" in second[0]


def test_two_tables_are_two_rulers_of_one_model_or_two_models_by_one_ruler(tmp_path: Path) -> None:
    files = write(tmp_path, "a.csv", V1), write(tmp_path, "b.csv", V1 + 0.01)
    rulers = [
        ScoreTable(files[0], provenance="gold", corrected_from="silver"),
        ScoreTable(files[1], provenance="silver"),
    ]
    study = load_tables(rulers, AUDIT, ATTRIBUTES)
    assert study.sides == [("table", "gold"), ("table", "silver")]
    assert study.references["silver"].title == "the labels of b.csv"
    assert study.references["gold"].origin[0].startswith("The gold labels are corrections of")
    assert study.compare().inflation["mean"].tolist() == pytest.approx([0.01])
    twice = [ScoreTable(file, provenance="gold") for file in files]
    with pytest.raises(ValueError, match=r"of two models, or by two sets .*\n.*v2=gold:.*b\.csv"):
        load_tables(twice, AUDIT, ATTRIBUTES)
    twice = [ScoreTable(file, provenance="gold", model="m") for file in files]
    assert load_tables(twice, AUDIT, ATTRIBUTES).sides == [("m", "gold_1"), ("m", "gold_2")]
    models = [
        ScoreTable(file, provenance="gold", model=name)
        for file, name in zip(files, ("v1", "v2"), strict=True)
    ]
    study = load_tables(models, AUDIT, ATTRIBUTES)
    assert study.sides == [("v1", "gold"), ("v2", "gold")]
    assert study.compare_models().differences["mean"].tolist() == pytest.approx([0.01])


def test_a_column_names_the_models_of_one_table(tmp_path: Path) -> None:
    parts = [
        pd.read_csv(write(tmp_path, "part.csv", V1 + more)).assign(net=name)
        for name, more in (("v1", 0), ("v2", 0.02))
    ]
    file = tmp_path / "both.csv"
    pd.concat(parts).to_csv(file, index=False)
    spec = ScoreTable(str(file), provenance="gold", columns={"model": "net"})
    study = load_tables([spec], AUDIT, ATTRIBUTES)
    assert study.sides == [("v1", "gold"), ("v2", "gold")]
    assert len(study.people) == 20
    assert "net" not in study.people
    found = study.compare_models().by_group.set_index("group")
    assert found["mean"].tolist() == pytest.approx([0.02, 0.02])
    assert found["n"].tolist() == [10, 10]
    pd.concat(parts).assign(net=lambda t: t["net"].mask(t["exam_id"] == "e03")).to_csv(
        file, index=False
    )
    with pytest.raises(IngestError, match=r"e03.*a model in column 'net'"):
        load_tables([spec], AUDIT, ATTRIBUTES)


def test_tables_that_describe_an_exam_differently_are_refused(tmp_path: Path) -> None:
    first, second = write(tmp_path, "a.csv", V1), write(tmp_path, "b.csv", V1)
    text = Path(second).read_text().replace("e04,F", "e04,M")
    Path(second).write_text(text)
    specs = [ScoreTable(first, provenance="gold"), ScoreTable(second, provenance="silver")]
    with pytest.raises(
        ValueError, match="sex differs in 1 exams: e04 has 'F' in a.csv and 'M' in b.csv"
    ):
        load_tables(specs, AUDIT, ATTRIBUTES)
