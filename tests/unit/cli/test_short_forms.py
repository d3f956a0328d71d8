"""Short forms need no quotes, and mean what the same settings in full mean."""

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from tworulers.cli.arguments import TypedError, read_arguments
from tworulers.cli.commands import BY_NAME, COMMANDS, STAGES
from tworulers.cli.forms import FormError
from tworulers.cli.quoting import quote_text, write_mapping
from tworulers.runner.arguments import complete_arguments
from tworulers.runner.checks.overrides import check_overrides
from tworulers.runner.settings import load_settings
from tworulers.runner.typed_names import restore_names
from tworulers.schema.settings import Settings


def load(root, stage: str, *words: str) -> Settings:
    overrides = complete_arguments(read_arguments(BY_NAME[stage], words).overrides)
    check_overrides(overrides)
    ConfigStore.instance().store(name="schema", node=Settings)
    with initialize_config_dir(str(root / "conf"), version_base="1.3"):
        config = compose("config", overrides)
    restore_names(config)
    return load_settings(config)


def test_what_everybody_needs_of_judge(root) -> None:
    words = (
        "--predictions mine --reference expert=gold:drawn --reference machine=silver:made/it --table exams.csv "
        "--by sex,age:median,site,code:levels,weight:60/80 --structures anterior=1,posterior=2 "
        "--margin dice=2,failures=10 --columns exam_id=case --pattern {exam}_pred --incomplete --out results"
    )
    settings = load(root, "judge", *words.split())
    given = settings.predictions
    assert (given.name, given.folder, given.cohort) == ("mine", "mine", "exams.csv")
    assert {name: (one.provenance, one.folder) for name, one in given.references.items()} == {
        "expert": ("gold", "drawn"),
        "machine": ("silver", "made/it"),
    }
    assert given.structures == {"anterior": 1, "posterior": 2}
    assert (given.cohort_columns, given.pattern, given.incomplete) == (
        {"exam_id": "case"},
        "{exam}_pred",
        True,
    )
    groupings = settings.attributes.groupings
    assert list(groupings) == ["sex", "age", "site", "code", "weight"]
    assert groupings["sex"].levels["Female"] == ["Female", "F"], "a grouping of the set keeps it"
    bins = [groupings[name].bins for name in ("age", "site", "code", "weight")]
    assert bins == ["median", None, "levels", [60, 80]]
    assert settings.audit.margin == {"dice": 2.0, "failures": 10.0}
    assert settings.paths.outputs == "results"


def test_several_models_and_no_groups(root) -> None:
    words = (
        "--predictions",
        "v1=a b",
        "--predictions",
        "v2=c",
        "--reference",
        "e=gold:d",
        "--by",
        "none",
    )
    settings = load(root, "judge", *words)
    folders = {name: one.folder for name, one in settings.predictions.models.items()}
    assert folders == {"v1": "a b", "v2": "c"}
    assert (settings.predictions.name, settings.attributes.groupings) == ("models", {})


def test_tables_of_scores(root) -> None:
    words = (
        "--scores gold:a.csv --scores silver:b.csv --table exams.csv --columns exam_id=case --fast"
    )
    settings = load(root, "compare", *words.split())
    for one, file, provenance in (
        (settings.scores, "a.csv", "gold"),
        (settings.against, "b.csv", "silver"),
    ):
        assert (one.file, one.provenance, one.cohort) == (file, provenance, "exams.csv")
        assert (one.columns, one.model) == ({"exam_id": "case"}, "")
    models = load(root, "compare", "--scores", "v1=gold:a.csv", "--scores", "v2=gold:C:/b.csv")
    assert (models.scores.model, models.against.model) == ("v1", "v2")
    assert models.against.file == "C:/b.csv"


def test_a_table_of_risks(root) -> None:
    words = (
        "--table r.csv --score risk --outcome died --event 1 --by sex=gender,race,age:50/65 --person id "
        "--not-computed=-1,NA --probability --use ranking"
    )
    settings = load(root, "risk", *words.split())
    risk = settings.risk
    assert (risk.file, risk.score, risk.outcome, risk.event) == ("r.csv", "risk", "died", "1")
    assert risk.groups == {"sex": "gender", "race": "race"}
    assert (risk.groupings["age"].kind, risk.groupings["age"].bins) == ("column", [50, 65])
    assert (risk.cluster, risk.sentinels, risk.probability) == ("id", ["-1", "NA"], True)
    assert (risk.low, risk.high, settings.use.name) == (0.0, 1.0, "ranking")


def test_settings_and_flags_of_hydra_pass_as_they_are() -> None:
    typed = read_arguments(
        BY_NAME["audit"], ["regime=mix", "ruler=gold,silver", "-m", "--cfg", "job", "~risk"]
    )
    assert typed.overrides == ("regime=mix", "ruler=gold,silver", "~risk", "-m", "--cfg", "job")


@pytest.mark.parametrize(
    ("stage", "words", "said"),
    [
        ("judge", "--predicitons x", "no option --predicitons; did you mean --predictions?"),
        ("judge", "predictions", "'predictions' stands alone"),
        ("judge", "--reference expert:gold", "--reference expert=gold:DIR"),
        ("judge", "--reference expert=golden:d", "'golden' says not who drew the labels"),
        ("judge", "--predictions a --predictions b", "--predictions v1=DIR --predictions v2=DIR"),
        ("judge", "--structures anterior", "--structures anterior=1,posterior=2"),
        ("judge", "--by age:old", "age:median, age:3 (equal parts), age:40/60 (edges)"),
        ("judge", "--by ,:3", "expected the name of a column"),
        ("judge", "--columns case", "expected --columns exam_id=COLUMN"),
        ("judge", "--table", "expected one argument"),
        ("audit", "--scores a.csv", "--scores gold:a.csv"),
        ("audit", "--margin dice=two", "expected a name and a number"),
        ("audit", "--fail-on unfair", "expected some of differs,cannot_say,changed"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_said_with_what_would_be(
    stage: str, words: str, said: str
) -> None:
    with pytest.raises((TypedError, FormError)) as caught:
        read_arguments(BY_NAME[stage], words.split())
    assert said in str(caught.value)


@given(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=12))
def test_any_text_is_read_back_as_it_is_typed(text: str) -> None:
    override = OverridesParser.create().parse_override(f"k={quote_text(text)}")
    assert OmegaConf.create({"k": str(override.value())}).k == text


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=9))
def test_any_name_in_a_mapping_is_read_back(name: str) -> None:
    override = OverridesParser.create().parse_override(f"k={write_mapping({name: '1', 'z': '2'})}")
    config = OmegaConf.create({"k": override.value()})
    restore_names(config)
    assert config == {"k": {name: 1, "z": 2} if name != "z" else {"z": 2}}


@pytest.mark.parametrize(
    ("typed", "name"), [(r"a\, b\=c=1", "a, b=c"), ("it's <b>=1", "it's <b>"), ("007=1", "007")]
)
def test_signs_that_part_a_list_stand_in_a_name_behind_a_backslash(
    root, typed: str, name: str
) -> None:
    settings = load(root, "judge", "--structures", typed)
    assert settings.predictions.structures == {name: 1}


def test_every_stage_is_a_module_and_every_key_a_setting(root) -> None:
    stages = {path.stem for path in (root / "src/tworulers/stages").glob("[!_]*.py")}
    assert stages - {"inventory"} <= STAGES <= stages
    assert len(BY_NAME) == len(COMMANDS)
    for command in COMMANDS:
        for group in command.choices:
            assert (root / "conf" / group).is_dir(), group
