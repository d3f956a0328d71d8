"""The steps of the pipeline: what each runs, reads and makes."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Step:
    """One entry of `dvc.yaml`.

    `deps` and `outs` are places below the dataset's folder of `artifacts/`, with `{regime}`, `{ruler}` and
    `{configuration}` for what `matrix` expands: a list of `conf/grid.yaml`, or names of its own. `given` are further
    choices of the command. `every` names groups of which the stage reads several files, and the value it reads of each
    (all where empty). An `always` step runs each time, so it
    watches nothing. A step with `many` instances watches any package whole that it imports from.
    """

    name: str
    stage: str
    deps: tuple[str, ...] = ()
    outs: tuple[str, ...] = ()
    matrix: Mapping[str, str | list[str]] = field(default_factory=dict)
    given: Mapping[str, str] = field(default_factory=dict)
    every: Mapping[str, str] = field(default_factory=dict)
    always: bool = False
    many: bool = False
    note: str = ""


REGIMES = {"regime": "regimes"}
TRAINING = ("cohort", "split", "plan", "arrays/{configuration}", "source", "files/labels.json")
SCORING = ("cohort", "split", "source", "inventory.json", "files/labels.json")

STEPS = (
    Step(
        "inventory",
        "inventory",
        outs=("inventory.json",),
        always=True,
        note="What lies outside the project is looked at each time: a file that changed there is seen here.",
    ),
    Step("cohort", "cohort", ("inventory.json",), ("source", "cohort", "files")),
    Step(
        "split", "split", ("cohort", "inventory.json"), ("split",), every={"regime": "provenances"}
    ),
    Step(
        "plan",
        "plan",
        ("cohort", "split", "source", "files/images.json", "files/labels.json"),
        ("plan",),
    ),
    Step(
        "preprocess",
        "preprocess",
        ("cohort", "plan", "files/images.json"),
        ("arrays/{configuration}",),
        {"configuration": "configurations"},
    ),
    Step(
        "train_gold",
        "train",
        TRAINING,
        ("models/gold/{configuration}",),
        {"configuration": "configurations"},
        {"regime": "gold"},
        note="The gold model learns from experts alone, so it comes first: it labels the silver pool and is the "
        "silver ruler.",
    ),
    Step(
        "annotate",
        "annotate",
        ("cohort", "plan", "arrays", "source", "files", "models/gold"),
        ("annotations",),
        given={"regime": "gold"},
    ),
    Step(
        "train",
        "train",
        (*TRAINING, "annotations"),
        ("models/{regime}/{configuration}",),
        {"regime": "machine_taught", "configuration": "configurations"},
    ),
    Step(
        "select",
        "select",
        ("cohort", "source", "files/labels.json", "annotations", "models/{regime}"),
        ("selection/{regime}",),
        REGIMES,
    ),
    Step(
        "predict",
        "predict",
        (
            *("cohort", "split", "plan", "arrays", "files/images.json"),
            *("models/{regime}", "selection/{regime}"),
        ),
        ("predictions/{regime}",),
        REGIMES,
    ),
    Step(
        "score",
        "score",
        (*SCORING, "annotations", "predictions/{regime}"),
        ("scores/{regime}/{ruler}",),
        {**REGIMES, "ruler": "label_rulers"},
        many=True,
    ),
    Step(
        "score_silver",
        "score",
        (*SCORING, "annotations", "predictions/{regime}", "predictions/gold/labels"),
        ("scores/{regime}/{ruler}",),
        {**REGIMES, "ruler": ["silver"]},
        note="The silver ruler is the gold model's predictions on the same exams: this one edge is what the project "
        "is about.",
        many=True,
    ),
    Step(
        "audit",
        "audit",
        ("cohort", "scores/{regime}/{ruler}", "predictions/{regime}/confidence.parquet"),
        ("audits/{regime}/{ruler}",),
        {**REGIMES, "ruler": "rulers"},
        many=True,
    ),
    Step(
        "compare",
        "compare",
        ("cohort", "scores", "audits"),
        ("comparisons",),
        every={"ruler": ""},
    ),
    Step(
        "report",
        "report",
        ("cohort", "split", "models", "scores", "audits", "comparisons"),
        ("report",),
        every={"ruler": ""},
    ),
    Step(
        "publish",
        "publish",
        (
            *("cohort", "split", "plan", "arrays", "models", "annotations", "selection"),
            *("predictions", "scores", "audits", "comparisons", "report"),
        ),
    ),
)
