"""The steps of the pipeline: what each runs, reads and makes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tworulers.rulers.find import find_needed
from tworulers.runner.graph.choices import read_yaml
from tworulers.runner.graph.table import TABLE, Wiring
from tworulers.runner.settings import load_choice
from tworulers.schema.settings import Grid, Provenance, Regime, Ruler


@dataclass(frozen=True)
class Step:
    """One entry of `dvc.yaml`: a stage, expanded over the dataset and lists of the grid.

    `matrix` names what it is expanded over: a list of `conf/grid.yaml`, or names of its own. `given` are further
    choices of the command. `also` are places that this step needs beyond those that the stage does, `without` those of
    the stage's that it does not.
    """

    name: str
    stage: str
    also: tuple[str, ...] = ()
    matrix: Mapping[str, str | list[str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    without: tuple[str, ...] = ()

    @property
    def inputs(self) -> list[str]:
        """The places that the step reads, as the table spells them."""
        return [one for one in (*self.wiring.inputs, *self.also) if one not in self.without]

    @property
    def wiring(self) -> Wiring:
        """What the stage reads and makes."""
        return TABLE[self.stage]

    def expand(self) -> dict[str, str | list[str]]:
        """Return what DVC expands the step over, as it stands in `dvc.yaml`."""
        lists = {
            name: f"${{grid.{of}}}" if isinstance(of, str) else of
            for name, of in self.matrix.items()
        }
        return {"dataset": ["${grid.dataset}"], **lists}

    def choose(self) -> dict[str, str]:
        """Return the choices of the step's command by group, as DVC spells them."""
        groups = {name.partition(".")[0] for name in self.wiring.reads}
        return {
            "dataset": "${item.dataset}",
            **self.given,
            **{name: f"${{item.{name}}}" for name in self.matrix},
            **{name: f"${{grid.{name}}}" for name in ("recipe", "trainer") if name in groups},
        }


REGIMES = {"regime": "regimes"}
CONFIGURATIONS = {"configuration": "configurations"}

DATA = (
    Step(
        "inventory",
        "inventory",
        note="What lies outside the project is looked at each time: a file that changed there is seen here.",
    ),
    Step("cohort", "cohort"),
    Step("split", "split"),
    Step("plan", "plan"),
    Step("preprocess", "preprocess", matrix=CONFIGURATIONS),
)

OF_TRAININGS = ("plan", "arrays", "models/{regime}", "selection/{regime}")
"""What networks that were trained elsewhere do not need to predict."""

VERDICTS = (
    Step("audit", "audit", matrix={**REGIMES, "ruler": "rulers"}),
    Step("compare", "compare"),
    Step("report", "report"),
    Step(
        "publish",
        "publish",
        note="Its mark lies beside the store of runs and goes with it, so a new clone fills its own.",
    ),
)


def list_steps(root: Path) -> list[Step]:
    """List the steps for the regimes and rulers of a project's grid.

    Parameters
    ----------
    root : the folder that holds `conf/`.

    Raises
    ------
    ValueError : the teacher learns from machine labels or is not trained here, or a ruler is made of predictions that
        no step makes.
    """
    grid = Grid(**read_yaml(root / "conf" / "grid.yaml")["grid"])
    regimes = [load_choice(root, "regime", name, Regime) for name in grid.regimes]
    rulers = [load_choice(root, "ruler", name, Ruler) for name in grid.rulers]
    models = (*train_steps(grid, regimes), *predict_steps(regimes))
    return [*DATA, *models, *score_steps(grid, rulers), *VERDICTS]


def train_steps(grid: Grid, regimes: list[Regime]) -> Iterator[Step]:
    """Train the teacher first, then regimes of experts' labels, then those that learn from its labels.

    Regimes whose networks were trained elsewhere are not trained.
    """
    trained = [regime for regime in regimes if not regime.models]
    taught = [regime.name for regime in trained if Provenance.SILVER in regime.provenances]
    others = [r.name for r in trained if r.name not in (*taught, grid.teacher)]
    if grid.teacher in {regime.name for regime in regimes if regime.models}:
        raise ValueError(
            f"grid.teacher is {grid.teacher}, whose networks were trained elsewhere (regime.models): only one that is "
            "trained here labels the silver pool"
        )
    if grid.teacher in taught:
        raise ValueError(
            f"grid.teacher is {grid.teacher}, whose provenances hold {Provenance.SILVER}: it would learn from the "
            "labels that it makes"
        )
    yield Step(
        f"train_{grid.teacher}",
        "train",
        matrix=CONFIGURATIONS,
        given={"regime": grid.teacher},
        note=f"The {grid.teacher} model learns from experts alone, so it comes first: it labels the silver pool.",
    )
    yield Step("annotate", "annotate", given={"regime": grid.teacher})
    for name, learning, also in (
        ("train_from_experts", others, ()),
        ("train", taught, ("annotations",)),
    ):
        if learning:
            yield Step(name, "train", also, {"regime": learning, **CONFIGURATIONS})


def predict_steps(regimes: list[Regime]) -> Iterator[Step]:
    """Predict by the selected networks of each regime, and by networks that were trained elsewhere as they are."""
    given = [regime.name for regime in regimes if regime.models]
    trained = [regime.name for regime in regimes if not regime.models]
    matrix: dict[str, str | list[str]] = {"regime": trained} if given else {**REGIMES}
    yield Step("select", "select", matrix=matrix)
    yield Step("predict", "predict", matrix=matrix)
    if given:
        yield Step(
            "predict_given",
            "predict",
            matrix={"regime": given},
            without=OF_TRAININGS,
            note="Networks that were trained elsewhere predict as they are; the inventory holds what is in them.",
        )


def score_steps(grid: Grid, rulers: list[Ruler]) -> Iterator[Step]:
    """Score by all rulers of labels in one step, and by each ruler made of predictions once those are there."""
    needed = {ruler.name: find_needed(ruler) for ruler in rulers}
    lacking = [f"{name} ({of})" for name, of in needed.items() if of not in (None, *grid.regimes)]
    if lacking:
        raise ValueError(
            "conf/grid.yaml lists rulers that are made of predictions of regimes that it does not list: "
            + ", ".join(lacking)
        )
    of_labels = [name for name, regime in needed.items() if regime is None]
    if of_labels:
        yield Step("score", "score", matrix={**REGIMES, "ruler": of_labels})
    for name, regime in needed.items():
        if regime is not None:
            yield Step(
                f"score_{name}",
                "score",
                (f"predictions/{regime}/labels", f"predictions/{regime}/inference.json"),
                {**REGIMES, "ruler": [name]},
                note=f"The ruler {name} is the {regime} model's predictions on the same exams: this edge is what the "
                "project is about.",
            )
