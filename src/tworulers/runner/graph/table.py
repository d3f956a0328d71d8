"""The wiring: what each stage reads and makes, said once.

From it come `dvc.yaml`, the settings that a stage can see, the parameters of its run in MLflow, and the stamp by which
interrupted work is known.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tworulers.io.resume import TRAINER, WITHOUT_EFFECT
from tworulers.runner.graph.choices import UNWATCHED


@dataclass(frozen=True)
class Wiring:
    """What one stage reads and makes.

    Parameters
    ----------
    reads : settings that decide its result, as dotted names of values or whole groups.
    told : settings that it reads and that no result depends on.
    inputs, outputs : places below the dataset's folder of `artifacts/`, with `{regime}`, `{ruler}` and
        `{configuration}` for what a step is expanded over.
    marks : files elsewhere that say that it has run; DVC neither keeps nor brings them back.
    every : groups of which it reads several files, and the value it reads of each (all where empty).
    ignores : modules that it imports and that its result does not depend on, beyond those that none depends on.
    always : it runs each time, so it watches nothing.
    keeps : its outputs stay until it has made others, where DVC would take them away before it runs.
    """

    reads: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    every: Mapping[str, str] = field(default_factory=dict)
    ignores: tuple[str, ...] = ()
    always: bool = False
    keeps: bool = False

    @property
    def seen(self) -> tuple[str, ...]:
        """The settings that the stage's own view of them holds."""
        return (*self.reads, *self.told, *UNWATCHED)


TRAINER_TOLD = tuple(f"trainer.{name}" for name in WITHOUT_EFFECT["trainer"])
NETWORKS = ("recipe.mirror", "recipe.tile_overlap", "recipe.accumulate", *TRAINER)

TABLE = {
    "inventory": Wiring(
        reads=("dataset", "split.file", "grid.regimes", "grid.rulers"),
        outputs=("inventory.json",),
        always=True,
        keeps=True,
    ),
    "cohort": Wiring(
        reads=("dataset", "split", "attributes"),
        inputs=("inventory.json",),
        outputs=("source", "cohort", "files"),
    ),
    "split": Wiring(
        reads=("dataset.name", "dataset.reading", "split", "grid.regimes"),
        inputs=("cohort", "inventory.json"),
        outputs=("split",),
        every={"regime": "provenances"},
    ),
    "plan": Wiring(
        reads=(
            *("dataset.name", "dataset.channels", "dataset.structures", "dataset.ignore"),
            *("recipe.name", "recipe.preset", "recipe.batch_coverage", "recipe.plan"),
            "recipe.memory_gb",
            "grid.regimes",
        ),
        inputs=("cohort", "split", "files/images.json", "files/labels.json"),
        outputs=("plan",),
    ),
    "preprocess": Wiring(
        reads=("dataset.name", "configuration.name", "recipe.name", "recipe.store_dtype"),
        inputs=("cohort", "plan", "files/images.json"),
        outputs=("arrays/{configuration}",),
    ),
    "train": Wiring(
        reads=(
            *("dataset.name", "regime.name", "configuration.name"),
            *("recipe", *TRAINER, "grid.folds", "seed"),
        ),
        # A fold alone is the same fold: what it is trained on does not depend on where the others are.
        told=("regime.title", "configuration.fold", *TRAINER_TOLD),
        inputs=("cohort", "split", "plan", "arrays/{configuration}", "files/labels.json"),
        outputs=("models/{regime}/{configuration}",),
        keeps=True,
    ),
    "annotate": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "dataset.ignore", "regime.name"),
            *(*NETWORKS, "recipe.cleanup", "grid.configurations", "grid.teacher"),
            *("inference.mirror", "inference.tile_step", "inference.precision"),
        ),
        told=("grid.folds", "inference.name"),
        inputs=("cohort", "plan", "arrays", "files", "models/{regime}"),
        outputs=("annotations",),
    ),
    "select": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "dataset.ignore", "regime.name"),
            *("recipe.cleanup", "recipe.select", "grid.configurations"),
        ),
        told=("grid.folds",),
        inputs=("cohort", "files/labels.json", "annotations", "models/{regime}"),
        outputs=("selection/{regime}",),
    ),
    "predict": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "dataset.channels"),
            *("regime.name", "regime.models", "regime.folds", "regime.checkpoint", *NETWORKS),
            "inference",
        ),
        inputs=(
            *("inventory.json", "cohort", "split", "plan", "arrays", "files/images.json"),
            *("models/{regime}", "selection/{regime}"),
        ),
        outputs=("predictions/{regime}",),
    ),
    "score": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "dataset.ignore", "dataset.truth"),
            "dataset.reading.trust_grid",
            *("regime", "ruler", "attributes"),
            *("audit.metrics", "audit.extra_metrics", "audit.levels_of", "audit.min_component_mm3"),
            *("audit.ndsc_reference", "audit.ndsc_fractions", "audit.ndsc_empty"),
            *("audit.surface_tolerance_mm", "audit.macro"),
            *("grid.teacher", "grid.widest"),
        ),
        # The names of metrics in these are compared with those there are.
        told=("audit.thresholds", "audit.sweep", "audit.margin"),
        inputs=(
            *("cohort", "split", "source", "files/labels.json", "inventory.json"),
            *("annotations", "predictions/{regime}"),
        ),
        outputs=("scores/{regime}/{ruler}",),
    ),
    "audit": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "dataset.margin"),
            *("dataset.corrected_from", "dataset.caveat"),
            *("regime.name", "ruler", "attributes", "audit", "scores"),
        ),
        inputs=("cohort", "scores/{regime}/{ruler}", "predictions/{regime}/confidence.parquet"),
        outputs=("audits/{regime}/{ruler}",),
    ),
    "compare": Wiring(
        reads=(
            *("dataset.name", "attributes", "audit", "scores", "against"),
            *("grid.regimes", "grid.rulers", "grid.base_ruler"),
        ),
        inputs=("cohort", "scores", "audits"),
        outputs=("comparisons",),
        every={"ruler": "", "regime": "provenances"},
    ),
    "report": Wiring(
        reads=(
            *("dataset.name", "dataset.title", "dataset.truth", "attributes", "report"),
            *("grid.regimes", "grid.rulers", "grid.teacher"),
        ),
        inputs=(
            *("cohort", "split", "models", "scores", "audits", "comparisons"),
            # Of some exams the image, the prediction and the label maps are shown.
            *("source", "inventory.json", "annotations", "predictions"),
        ),
        outputs=("report",),
        every={"ruler": ""},
    ),
    "publish": Wiring(
        reads=("dataset.name",),
        told=("predictions.name", "report.shared"),
        inputs=(
            *("cohort", "split", "plan", "arrays", "models", "annotations", "selection"),
            *("predictions", "scores", "audits", "comparisons", "report"),
        ),
        marks=("mlruns/published/{dataset}.json",),
    ),
    # Run by hand, for files that a person names.
    "check": Wiring(
        reads=(
            *("dataset", "check", "split", "attributes", "ruler"),
            *("audit.linear_terms", "audit.min_group"),
        )
    ),
    "export": Wiring(
        reads=(
            *("dataset.name", "dataset.structures", "regime.name", "regime.title"),
            *("recipe.mirror", "recipe.tile_overlap", "recipe.accumulate"),
            *("grid.configurations", "export"),
        ),
    ),
    "judge": Wiring(
        reads=("predictions", "attributes", "audit", "report"), told=("dataset.structures",)
    ),
    "lock": Wiring(reads=("attributes", "audit", "scores.measures")),
    "risk": Wiring(reads=("risk", "use"), told=("report.shared",)),
    "show": Wiring(
        told=("dataset.name", "dataset.title", "attributes", "grid.rulers", "grid.teacher"),
    ),
}
