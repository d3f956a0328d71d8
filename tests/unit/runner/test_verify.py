"""Whether two results are the same, through the command line: on made folders, a lock and a record."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from tworulers.io.records import write_json, write_table
from tworulers.runner.verify.command import main
from tworulers.runner.verify.gist import load_gist
from tworulers.runner.verify.locked import hash_output
from tworulers.runner.verify.processor import name_processor
from tworulers.schema.tables import SCHEMA_VERSION

ROOT = Path(__file__).parents[3]
TESTS, SCORES = "audits/mix/gold/tests.parquet", "scores/mix/gold/scores.parquet"
SENTENCES = "audits/mix/gold/sentences.parquet"


def make_tests() -> pd.DataFrame:
    about = {"family": "main", "metric": ["dice", "dice", "hd95"], "structure": "macro"}
    answers = {"answer": ["differs", "cannot_say", "cannot_say"], "p": [0.01, 0.3, 0.4]}
    return pd.DataFrame({**about, "grouping": ["sex", "age", "sex"], **answers})


def make_scores(shift: float = 0.0) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    dice = pd.DataFrame({"metric": "dice", "value": rng.uniform(0.7, 0.9, 30).round(3) + shift})
    hd95 = pd.DataFrame({"metric": "hd95", "value": rng.uniform(3, 5, 30).round(3) + 40 * shift})
    both = pd.concat([dice, hd95], ignore_index=True)
    return both.assign(exam_id=[f"e{i}" for i in range(60)], structure="macro")


@pytest.fixture
def result(tmp_path: Path) -> Path:
    folder = tmp_path / "one" / "artifacts" / "made"
    write_table(make_tests(), folder / TESTS, SCHEMA_VERSION)
    said = pd.DataFrame({"grouping": ["sex"], "sentence": ["p < 0.001 of 63 tests: women differ"]})
    write_table(said, folder / SENTENCES, SCHEMA_VERSION)
    write_table(make_scores(), folder / SCORES)
    write_json({"answer": "the 2 rulers agree", "base": "gold"}, folder / "report/summary.json")
    (folder / "models").mkdir()
    (folder / "models/final.pt").write_bytes(b"weights")
    (folder / "timings").mkdir()
    (folder / "timings/fold_0.parquet").write_bytes(b"one second")
    return folder


@pytest.fixture
def other(result: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(result, tmp_path / "two" / "artifacts" / "made"))


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[list[str]]:
    """What was said, blank-separated columns apart."""
    said = capsys.readouterr().out.splitlines()
    return [line.split("  ") for line in said]


def test_a_copy_is_the_same_both_ways_and_what_the_clock_said_does_not_count(
    result: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / "timings/fold_0.parquet").write_bytes(b"two seconds")
    assert run(result, other) == 0
    assert run(result, other, "--exact") == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("means within 0.01 (beyond 1: within 5%), the same words: the same")
    assert second.endswith("byte by byte: the same")


def test_means_agree_within_tolerance_and_the_row_that_is_furthest_is_told(
    result: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(make_scores(0.004), other / SCORES)
    assert run(result, other) == 0
    assert run(result, other, "--points", "0.003") == 1
    capsys.readouterr()
    write_table(make_scores(0.011), other / SCORES)
    assert run(result, other) == 1
    said = capsys.readouterr().out
    assert "1 difference" in said.replace("differences", "difference")
    row = said.splitlines()[-1].split()
    # by 0.44 mm of about 4 mm, more than 5 %; Dice by 0.011
    assert row[:6] == [SCORES, "mean", "2", "of", "2", "0.44"]
    assert row[6] == "hd95/macro:"


def test_words_count_and_the_numbers_in_them_do_not(
    result: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = pd.DataFrame({"grouping": ["sex"], "sentence": ["p = 0.0021 of 9 tests: women differ"]})
    write_table(said, other / SENTENCES, SCHEMA_VERSION)
    write_json({"answer": "the 3 rulers agree", "base": "mix"}, other / "report/summary.json")
    write_table(make_tests().assign(p=0.02), other / TESTS, SCHEMA_VERSION)
    assert run(result, other) == 0
    answers = make_tests().assign(answer=["cannot_say", "cannot_say", "differs"])
    write_table(answers, other / TESTS, SCHEMA_VERSION)
    write_json({"answer": "the 2 rulers differ"}, other / "report/summary.json")
    capsys.readouterr()
    assert run(result, other) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("2 differences")
    assert any(
        "answer" in line
        and "2 of 3" in line
        and "main/dice/macro/sex: differs | cannot_say" in line
        for line in told
    )
    assert any("the # rulers agree | the # rulers differ" in line for line in told)


def test_words_of_a_p_near_its_level_are_listed_and_all_others_differ(
    result: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write(folder: Path, p: float, answer: str, post_hoc: list[str]) -> None:
        """Write what an audit says of sex, by Dice, at a p, with other tests far from their level."""
        tests = make_tests().assign(p_verdict=p, p_verdict_fdr=[p, 0.3, 0.4], p_within_holm=0.9)
        tests["answer"] = [answer, "cannot_say", "cannot_say"]
        write_table(tests, folder / TESTS, SCHEMA_VERSION)
        pairs = pd.DataFrame({"metric": "dice", "structure": "macro", "grouping": post_hoc})
        write_table(
            pairs.assign(significant=True),
            folder / TESTS.replace("tests", "posthoc"),
            SCHEMA_VERSION,
        )
        said = pd.DataFrame(
            {"family": "main", "grouping": ["sex"], "sentence": [f"Sex: {answer}."]}
        )
        write_table(said, folder / SENTENCES, SCHEMA_VERSION)
        write_json({"answer": f"by expert labels: {answer}"}, folder / "report/summary.json")

    record = tmp_path / "record.json"
    write(result, 0.04, "differs", ["sex"])
    assert run(result, "--record", record) == 0
    write(other, 0.3, "cannot_say", [])
    # Near in one of both is enough, and in a record as in a folder.
    for first, second in ((result, other), (other, result), (other, record)):
        capsys.readouterr()
        assert run(first, second) == 0
        told = capsys.readouterr().out.splitlines()
        assert told[0].endswith("the same words: the same")
        assert "words that a p within a factor of 2 of 0.05 settled" in told[1]
        assert [line.split()[0].rpartition("/")[2] for line in told[3:]] == [
            *("posthoc.parquet", "sentences.parquet", "tests.parquet", "summary.json")
        ]
    assert run(other, record, "--factor", "1.2") == 1
    # Neither a mean nor what another test says is near anything.
    write_table(make_scores(0.02), other / SCORES)
    capsys.readouterr()
    assert run(other, record) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0].endswith("1 difference")
    assert SCORES in told[2]
    write_table(make_scores(), other / SCORES)
    write(result, 0.02, "differs", ["sex"])
    assert run(result, other) == 1
    assert "near its level" not in capsys.readouterr().out.splitlines()[-1]
    write(result, 0.04, "differs", ["sex"])
    far = pd.read_parquet(other / TESTS).assign(answer=["differs", "differs", "cannot_say"])
    write_table(far, other / TESTS, SCHEMA_VERSION)
    capsys.readouterr()
    assert run(result, other) == 1
    assert "main/dice/macro/age: cannot_say | differs" in capsys.readouterr().out


def test_missing_tables_and_rows_are_named(
    result: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (other / SENTENCES).unlink()
    write_table(make_tests().iloc[:2], other / TESTS, SCHEMA_VERSION)
    assert run(result, other) == 1
    said = capsys.readouterr().out
    assert f"{SENTENCES}" in said
    assert "only in the first\n" in said
    assert "only in the first: main/hd95/macro/sex" in said


def test_exact_tells_columns_and_bytes_apart(
    result: Path, other: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(make_tests().assign(p=[0.01, 0.3, 0.4000001]), other / TESTS, SCHEMA_VERSION)
    (other / "models/final.pt").write_bytes(b"others")
    make_scores().to_parquet(other / SCORES, compression="gzip", index=False)
    assert run(result, other) == 0
    capsys.readouterr()
    assert run(result, other, "--exact") == 1
    told = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[2:]}
    assert "p" in told[TESTS].split()
    assert "1 of 3" in told[TESTS]
    assert "1e-07" in told[TESTS]
    assert told["models/final.pt"].endswith("other bytes")
    assert told[SCORES].endswith("other bytes, the same content")


def test_a_record_keeps_means_and_words(
    result: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    endless = make_scores()
    endless.loc[endless["metric"] == "hd95", "value"] = np.inf
    write_table(endless, result / SCORES)
    assert run(result, "--record", record) == 0
    assert run(result, record) == 0
    assert run(other, record) == 1
    assert "hd95/macro: 3.9526 | inf" in capsys.readouterr().out
    (result / SCORES).unlink()
    assert run(result, record) == 1
    assert f"{SCORES}" in capsys.readouterr().out
    content = json.loads(record.read_text())
    record.write_text(json.dumps(content | {"schema_version": 2}))
    assert run(other, record) == 2
    assert f"version 2, today's are of version {SCHEMA_VERSION}" in capsys.readouterr().err


def test_a_record_keeps_the_numbers_that_documents_quote_and_compares_none(
    result: Path, tmp_path: Path
) -> None:
    record = tmp_path / "record.json"
    for exams in (120, 480):
        write_table(make_tests().assign(n_needed=exams), result / TESTS, SCHEMA_VERSION)
        if exams == 120:
            assert run(result, "--record", record) == 0
    assert load_gist(record)[TESTS]["n_needed"].to_list() == [120, 120, 120]
    assert run(result, record) == 0


def test_of_another_processor_the_means_over_all_exams_are_held_and_the_rest_is_listed(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    assert run(result, "--record", record) == 0
    content = json.loads(record.read_text())
    write_table(
        make_tests().assign(p_verdict_fdr=0.5, answer="other"), result / TESTS, SCHEMA_VERSION
    )
    assert run(result, record) == 1
    record.write_text(json.dumps(content | {"processor": "Another 1 2"}))
    capsys.readouterr()
    assert run(result, record) == 0
    said = capsys.readouterr().out
    assert "recorded on another processor (Another 1 2; here" in said
    assert "the same\n" in said
    assert "other | differs" in said
    for shift, status in ((0.015, 0), (0.05, 1)):
        scores = make_scores()
        scores.loc[scores["metric"] == "dice", "value"] += shift
        write_table(scores, result / SCORES)
        assert run(result, record) == status
    (result / TESTS).unlink()
    write_table(make_scores(), result / SCORES)
    assert run(result, record) == 1


def test_a_processor_is_named_by_what_the_system_says(tmp_path: Path) -> None:
    described = tmp_path / "cpuinfo"
    described.write_text("vendor_id\t: V\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: X\n" * 2)
    assert name_processor(described) == "V 6 85"
    assert name_processor(tmp_path / "none")


def test_long_texts_of_many_rows_are_kept_as_digests_that_still_tell(
    result: Path, tmp_path: Path
) -> None:
    rows = 30
    said = pd.DataFrame(
        {"grouping": range(rows), "sentence": "a sentence of more than " + "x" * 40}
    )
    write_table(said, result / SENTENCES, SCHEMA_VERSION)
    record = tmp_path / "record.json"
    assert run(result, "--record", record) == 0
    assert "a sentence of" not in record.read_text()
    assert run(result, record) == 0
    said.loc[7, "sentence"] += " and more"
    write_table(said, result / SENTENCES, SCHEMA_VERSION)
    assert run(result, record) == 1


def test_older_tables_and_what_is_no_result_are_refused(
    result: Path, other: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_table(make_tests(), other / TESTS, 2)
    for how in ((), ("--exact",)):
        assert run(result, other, *how) == 2
        said = capsys.readouterr().err
        assert f"{TESTS} (version 2, expected {SCHEMA_VERSION})" in said
        assert "make them again" in said
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text('{"tables": 3}')
    for place, why in (
        (tmp_path / "nowhere", "is not there"),
        (tmp_path / "empty", "holds no table"),
        (tmp_path / "text.json", "is no record"),
    ):
        assert run(result, place) == 2
        assert why in capsys.readouterr().err
    assert run(result) == 2


def test_a_lock_is_compared_by_hashes_as_dvc_makes_them(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (result / "models/.tworulers").write_text("ours")
    outs = ["scores", "models", TESTS]
    listed = [
        {"path": f"artifacts/made/{name}", "md5": hash_output(result / name)} for name in outs
    ]
    lock = tmp_path / "dvc.lock"
    lock.write_text(yaml.safe_dump({"schema": "2.0", "stages": {"one": {"outs": listed}}}))
    assert run(result, lock) == 2
    assert "add --exact" in capsys.readouterr().err
    assert run(result, lock, "--exact") == 0
    assert run(result / "scores", lock, "--exact") == 0
    (result / "models/final.pt").write_bytes(b"others")
    shutil.rmtree(result / "scores")
    assert run(result, lock, "--exact") == 1
    told = capsys.readouterr().out
    assert "artifacts/made/models" in told
    assert "other bytes than recorded" in told
    assert "missing" in told
    assert run(tmp_path, lock, "--exact") == 2
    assert "records no output of" in capsys.readouterr().err


def test_hashes_of_folders_are_those_of_dvc(result: Path) -> None:
    tree = pytest.importorskip("dvc_data.hashfile.build")
    from dvc_data.hashfile.db import HashFileDB
    from dvc_objects.fs import LocalFileSystem

    files = LocalFileSystem()
    store = HashFileDB(files, str(result.parent / "store"))
    (result / "models/.tworulers").write_text("ours")
    _, _, made = tree.build(store, str(result), files, "md5", dry_run=True)
    assert hash_output(result) == made.hash_info.value


def test_the_script_ends_with_the_status(result: Path, other: Path) -> None:
    (other / SENTENCES).unlink()
    done = subprocess.run(
        [ROOT / "scripts/verify", result, other], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert SENTENCES in done.stdout
