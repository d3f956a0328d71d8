"""What a person types reaches Hydra in a form that it takes, and leads where it says."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from tworulers.runner.arguments import complete_arguments, is_open
from tworulers.runner.settings import open_paths
from tworulers.schema.settings import Settings
from tworulers.schema.sources import Dataset, Predictions, Reading, Reference


@pytest.mark.parametrize(
    ("typed", "taken"),
    [
        ("predictions.structures={a: 1}", "++predictions.structures={a: 1}"),
        ("predictions.structures.a=1", "++predictions.structures.a=1"),
        ("+risk.groups.sex=gender", "+risk.groups.sex=gender"),
        ("risk.groups.sex=gender", "++risk.groups.sex=gender"),
        ("audit.thresholds.dice=0.7,0.8", "++audit.thresholds.dice=0.7,0.8"),
        ("audit.alpha=0.1", "audit.alpha=0.1"),
        ("scores.filters={a: [1, -2]}", "++scores.filters={a: ['1', '-2']}"),
        ("attributes.bins={age: [40,60]}", "++attributes.bins={age: [40,60]}"),
        ("attributes=sex", "attributes=sex"),
        ("~predictions.folder", "~predictions.folder"),
        ("scores.file=~/a b.csv", "scores.file='~/a b.csv'"),
        ("scores.file='~/x'", "scores.file='~/x'"),
        ("+a={e: {folder: ~/x, provenance: gold}}", "+a={e: {folder: '~/x', provenance: gold}}"),
        ("+a=[~/x,'b, ~/c']", "+a=['~/x','b, ~/c']"),
        ("scores.file=/a/~b", "scores.file=/a/~b"),
        ("--cfg", "--cfg"),
    ],
)
def test_what_is_typed_is_completed(typed: str, taken: str) -> None:
    assert complete_arguments([typed]) == [taken]


@given(st.text(st.characters(codec="ascii", exclude_characters=",[]{}\n\r\\'\"$=:"), max_size=12))
def test_a_path_below_the_home_folder_is_read_as_it_is_typed(rest: str) -> None:
    (taken,) = complete_arguments([f"scores.file=~/{rest}"])
    assert OverridesParser.create().parse_override(taken).value() == f"~/{rest}".rstrip()


def test_only_mappings_are_open() -> None:
    assert is_open("attributes.groupings.sex.levels.Female")
    for key in ("predictions", "predictions.folder", "nothing.at.all", "audit.metrics"):
        assert not is_open(key)


def test_every_path_of_the_settings_leads_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    settings = Settings(
        dataset=Dataset(root="~", reading=Reading(table="~/t.csv", label_map={1: 2}))
    )
    settings.predictions = Predictions("~n", folder="~/p", references={"e": Reference("~/e")})
    settings.scores.file = "a/~/b"
    open_paths(settings)
    assert (settings.dataset.root, settings.dataset.reading.table) == (
        "/home/ann",
        "/home/ann/t.csv",
    )
    assert settings.predictions.folder == str(Path("/home/ann/p"))
    assert settings.predictions.references["e"].folder == "/home/ann/e"
    assert (settings.predictions.name, settings.scores.file) == ("~n", "a/~/b")
