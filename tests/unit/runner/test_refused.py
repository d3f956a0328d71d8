"""What Hydra refuses is told as any other fault: the setting, what was expected, what was found, what was meant."""

import pytest

from command import Project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.at(tmp_path_factory.mktemp("refused"))


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ("audit.alpha=two", "audit.alpha=two: expected a number, found 'two'"),
        ("recipe.epochs=many", "recipe.epochs=many: expected a whole number, found 'many'"),
        ("audit.sed=1", "there is no setting audit.sed (did you mean audit.seed?)"),
        ("alpha=.1", "there is no setting alpha (did you mean audit.alpha?)"),
        ("foo.bar=1", "there is no setting foo.bar"),
        ("audit=quik", "there is no audit 'quik' (did you mean quick?); it is one of paper, quick"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(
    typed: str, told: str, project: Project
) -> None:
    ended = project.type("show", typed)
    assert (ended.status, ended.out) == (1, "")
    (line,) = ended.err.strip().splitlines()
    assert line.startswith("error: ")
    assert line.endswith(told)
    assert not (project.folder / "artifacts").exists()


def test_without_anything_given_a_judgement_says_what_it_needs(project: Project) -> None:
    ended = project.type("judge")
    assert ended.status == 1
    assert "--predictions DIR" in ended.err
    assert "--reference expert=gold:/e" in ended.err


def test_what_hydra_said_is_shown_whole_where_it_is_asked_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    with pytest.raises(Exception, match="Error merging override"):
        project.type("show", "audit.alpha=two")
