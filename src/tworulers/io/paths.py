"""Where everything lies: every location of the project, spelled once."""

from dataclasses import dataclass
from pathlib import Path

from tworulers.schema import Settings


def project_root() -> Path:
    """Return the folder that holds `conf/` and `dvc.yaml`: the working folder, or the checkout this package is in."""
    for candidate in (Path.cwd(), *Path.cwd().parents, *Path(__file__).parents):
        if (candidate / "conf" / "config.yaml").is_file() and (candidate / "dvc.yaml").is_file():
            return candidate
    raise FileNotFoundError(
        "no folder with conf/config.yaml and dvc.yaml above the working folder; run from a checkout"
    )


@dataclass(frozen=True)
class Layout:
    """The files of one dataset. `inputs` is what the pipeline made; `outputs` differs from it in a sweep."""

    root: Path
    inputs: Path
    outputs: Path

    @classmethod
    def of(cls, settings: Settings, root: Path | None = None) -> "Layout":
        """Lay out the files of the configured dataset below the project root."""
        root = root or project_root()
        name = settings.dataset.name
        return cls(
            root, root / settings.paths.artifacts / name, root / settings.paths.outputs / name
        )

    @classmethod
    def of_predictions(cls, settings: Settings, root: Path) -> "Layout":
        """Lay out the results of predictions made elsewhere, below `judged/` beside the datasets."""
        folder = root / settings.paths.outputs / "judged" / settings.predictions.name
        return cls(root, folder, folder)

    @property
    def cohort(self) -> Path:
        """Folder of the cohort table, its exclusions and descriptions."""
        return self.inputs / "cohort"

    @property
    def source(self) -> Path:
        """Folder of generated images and labels."""
        return self.inputs / "source"

    @property
    def inventory(self) -> Path:
        """List of the files outside the project that settings name, by content."""
        return self.inputs / "inventory.json"

    @property
    def files(self) -> Path:
        """Folder of what every exam's image and label hold, as digests."""
        return self.inputs / "files"

    @property
    def digests(self) -> Path:
        """Digests of files that were read before."""
        return self.inputs / "scratch" / "digests.json"

    @property
    def check(self) -> Path:
        """Folder of the list of faults of a source."""
        return self.outputs / "check"

    @property
    def split(self) -> Path:
        """Folder of the splits and folds."""
        return self.inputs / "split"

    @property
    def plan(self) -> Path:
        """Folder of the fingerprint and the plans."""
        return self.inputs / "plan"

    def arrays(self, configuration: str) -> Path:
        """Folder of the preprocessed images of a configuration."""
        return self.inputs / "arrays" / configuration

    def model(self, regime: str, configuration: str) -> Path:
        """Folder of the trained folds of a regime and configuration."""
        return self.inputs / "models" / regime / configuration

    def scratch(self, regime: str, configuration: str) -> Path:
        """Folder of checkpoints that only an interrupted training leaves behind."""
        return self.inputs / "scratch" / regime / configuration

    @property
    def annotations(self) -> Path:
        """Folder of machine labels made by the gold model."""
        return self.inputs / "annotations"

    def selection(self, regime: str) -> Path:
        """Folder of the configuration choice of a regime."""
        return self.inputs / "selection" / regime

    def predictions(self, regime: str) -> Path:
        """Folder of the test label maps and confidences of a regime."""
        return self.inputs / "predictions" / regime

    def confidence(self, regime: str) -> Path:
        """Table of how sure a regime's networks were of each test exam."""
        return self.predictions(regime) / "confidence.parquet"

    def scores(self, regime: str, ruler: str) -> Path:
        """Folder of the scores of a regime under a ruler."""
        return self.inputs / "scores" / regime / ruler

    def audit(self, regime: str, ruler: str) -> Path:
        """Folder of the verdict tables of a regime under a ruler."""
        return self.outputs / "audits" / regime / ruler

    def comparison(self, kind: str, name: str) -> Path:
        """Folder of a comparison: `rulers` of a regime, or `regimes` under a ruler."""
        return self.outputs / "comparisons" / kind / name

    @property
    def report(self) -> Path:
        """Folder of the page and its figures."""
        return self.outputs / "report"

    def relative(self, path: Path) -> str:
        """Write a path as seen from the project root."""
        return (
            path.relative_to(self.root).as_posix()
            if path.is_relative_to(self.root)
            else path.as_posix()
        )
