"""Where everything lies: every location of the project, spelled once."""

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryFile

import yaml

from tworulers.schema import result_files as files
from tworulers.schema.file_names import check_name
from tworulers.schema.settings import Settings

MAIN = "config.yaml"

OURS = ("schema", "regime", "ruler")
"""What the defaults of our `conf/config.yaml` name and those of no other project do."""


class NoProjectError(FileNotFoundError):
    """The working folder is in a project of another tool."""


def project_root() -> Path:
    """Return the folder that results go to: the project that the working folder is in, else the working folder.

    A project holds `dvc.yaml` and our `conf/`.

    Raises
    ------
    NoProjectError : the first one above the working folder is another tool's.
    """
    for candidate in (Path.cwd(), *Path.cwd().parents):
        if (candidate / "conf" / MAIN).is_file() and (candidate / "dvc.yaml").is_file():
            missing = sorted(set(OURS) - _list_defaults(candidate / "conf" / MAIN))
            if missing:
                raise NoProjectError(
                    f"{candidate} has a conf/config.yaml and a dvc.yaml, but not those of tworulers: the defaults "
                    f"in conf/config.yaml lack {', '.join(missing)}. Nothing was written there; start the command "
                    "in another folder, where its results are to go"
                )
            return candidate
    return Path.cwd()


def list_configuration(root: Path) -> list[Path]:
    """List the folders of configuration, those that go first before the others.

    Parameters
    ----------
    root : the project root. A project has a whole configuration of its own; elsewhere the files of a `conf/`, if there
        is one and its `config.yaml`, if it has one, is ours, go before those of this package.
    """
    own = root / "conf"
    theirs = (own / MAIN).is_file() and not set(OURS) <= _list_defaults(own / MAIN)
    if (own / MAIN).is_file() and (root / "dvc.yaml").is_file():
        return [own]
    return [*([own] if own.is_dir() and not theirs else []), find_packaged_configuration()]


def find_packaged_configuration() -> Path:
    """Return the configuration that came with this package: within it, or at the top of the checkout it is in."""
    package = Path(__file__).parents[1]
    return next(
        place for place in (package / "conf", package.parents[1] / "conf") if place.is_dir()
    )


def find_choice(root: Path, group: str, name: str) -> Path | None:
    """Return the file of a choice of a configuration group; None where there is none."""
    places = (folder / group / f"{name}.yaml" for folder in list_configuration(root))
    return next((path for path in places if path.is_file()), None)


def _list_defaults(config: Path) -> set[str]:
    """List the files and groups that the defaults of a configuration name."""
    try:
        content = yaml.safe_load(config.read_text())
    except (OSError, ValueError, yaml.YAMLError):
        return set()
    defaults = content.get("defaults") if isinstance(content, dict) else None
    entries = defaults if isinstance(defaults, list) else []
    return {
        str(name) for entry in entries for name in (entry if isinstance(entry, dict) else [entry])
    }


class OutsideError(ValueError):
    """A result would be written outside the folder that results go to."""


def place_within(home: Path, *folders: str, **names: str) -> Path:
    """Return where a result goes: below `home`, also once every link on the way is followed.

    Parameters
    ----------
    home : a folder of results; it may itself be a link to where there is room.
    folders : below it, ours.
    names : of the folders below those, from a configuration, by what is called so.

    Raises
    ------
    FileNameError : a name cannot name a folder.
    OutsideError : a link on the way leads out of `home`.
    """
    checked = (check_name(name, what) for what, name in names.items())
    path = home.joinpath(*folders, *checked)
    if not path.resolve().is_relative_to(home.resolve()):
        raise OutsideError(
            f"{path} leads to {path.resolve()}, outside {home}, where results go; nothing was written. Take the "
            f"link away; to keep results on another disk make {home} itself the link"
        )
    return path


def show_path(path: Path) -> str:
    """Write a path for a message: as seen from the working folder where it lies below that, else whole."""
    here = Path.cwd()
    return (path.relative_to(here) if path.is_relative_to(here) else path.absolute()).as_posix()


def require_writable(folder: Path) -> None:
    """Try that files can be made in a folder of results, or where it will be; nothing is left there.

    Raises
    ------
    ValueError : they cannot; the message says where and why.
    """
    there = next(place for place in (folder, *folder.parents) if place.exists())
    try:
        with TemporaryFile(dir=there):
            return
    except OSError as error:
        raise ValueError(
            f"results cannot be written to {show_path(folder)}: {show_path(there)} is "
            f"{'not writable' if there.is_dir() else 'a file'} ({error.strerror}); nothing was done. Say where they "
            "go: paths.outputs=FOLDER (--out)"
        ) from error


def place_lock(questions: Path) -> Path:
    """Return where the lock of a file of primary questions lies: beside it."""
    return questions.with_name(f"{questions.stem}.lock.json")


@dataclass(frozen=True)
class Layout:
    """The files of one dataset, as they are read: from `outputs` where a run's own folder holds them, else `inputs`.

    `inputs` is what the pipeline made; `outputs` is where this run writes, which in a sweep is a folder of its own.
    A stage names what it writes through `results`.
    """

    root: Path
    inputs: Path
    outputs: Path

    @classmethod
    def of(cls, settings: Settings, root: Path | None = None) -> "Layout":
        """Lay out the files of the configured dataset below the project root."""
        root = root or project_root()
        name = settings.dataset.name
        homes = root / settings.paths.artifacts, root / settings.paths.outputs
        return cls(root, *(place_within(home, dataset=name) for home in homes))

    @classmethod
    def of_predictions(cls, settings: Settings, root: Path) -> "Layout":
        """Lay out the results of predictions made elsewhere, below `judged/` beside the datasets."""
        home, name = root / settings.paths.outputs, settings.predictions.name
        folder = place_within(home, "judged", predictions=name)
        return cls(root, folder, folder)

    @classmethod
    def of_table(cls, settings: Settings, root: Path) -> "Layout":
        """Lay out the audits of a ready table of scores, below `tables/` beside the datasets."""
        file = Path(str(settings.scores.file))
        home, name = root / settings.paths.outputs, file.stem or file.absolute().stem  # of `.`
        folder = place_within(home, "tables", table=name, attributes=settings.attributes.name)
        return cls(root, folder, folder)

    @classmethod
    def of_risk(cls, settings: Settings, root: Path, name: str) -> "Layout":
        """Lay out the audits of a table of risks, below `risk/` beside the datasets, one folder a use."""
        home = root / settings.paths.outputs
        folder = place_within(home, "risk", risk=name)
        return cls(root, folder, folder)

    def use(self, name: str) -> Path:
        """Folder of the audit of a table of risks for one use."""
        return place_within(self.outputs, use=name)

    @property
    def results(self) -> "Layout":
        """The same files where this run writes them: below its own folder alone."""
        return replace(self, inputs=self.outputs)

    def find(self, *folders: str, **names: str) -> Path:
        """Return a place below this run's own folder if it is there, else where the pipeline has it."""
        own = place_within(self.outputs, *folders, **names)
        return own if own.exists() else place_within(self.inputs, *folders, **names)

    def follow(self, path: Path) -> Path:
        """Return a place that settings name; one of the pipeline's results is found as every other."""
        if not path.is_relative_to(self.inputs):
            return path
        return self.find(*path.relative_to(self.inputs).parts)

    @property
    def cohort(self) -> Path:
        """Folder of the cohort table, its exclusions and descriptions."""
        return self.find("cohort")

    @property
    def cohort_table(self) -> Path:
        """Table of the exams, one row each."""
        return self.cohort / files.COHORT

    @property
    def source(self) -> Path:
        """Folder of generated images and labels."""
        return self.find("source")

    @property
    def links(self) -> Path:
        """Folder of links to images and labels whose own names must not be seen."""
        return self.find("links")

    @property
    def inventory(self) -> Path:
        """List of the files outside the project that settings name, by content."""
        return place_within(self.outputs, "inventory.json")

    @property
    def files(self) -> Path:
        """Folder of what every exam's image and label hold, as digests."""
        return self.find("files")

    @property
    def digests(self) -> Path:
        """Digests of files that were read before."""
        return place_within(self.outputs, "scratch", "digests.json")

    @property
    def check(self) -> Path:
        """Folder of the list of faults of a source."""
        return place_within(self.outputs, "check")

    @property
    def split(self) -> Path:
        """Folder of the splits and folds."""
        return self.find("split")

    @property
    def split_table(self) -> Path:
        """Table of the parts and folds of every regime."""
        return self.split / files.SPLITS

    @property
    def plan(self) -> Path:
        """Folder of the fingerprint and the plans."""
        return self.find("plan")

    @property
    def plans(self) -> Path:
        """Plans of every configuration."""
        return self.plan / files.PLANS

    @property
    def planned_dataset(self) -> Path:
        """Which channels and labels the plans are for."""
        return self.plan / files.DATASET

    def arrays(self, configuration: str) -> Path:
        """Folder of the preprocessed images of a configuration."""
        return self.find("arrays", configuration=configuration)

    def model(self, regime: str, configuration: str) -> Path:
        """Folder of the trained folds of a regime and configuration."""
        return self.find("models", regime=regime, configuration=configuration)

    def models(self, regime: str) -> Path:
        """Folder of the trained models of a regime, one a configuration."""
        return place_within(self.inputs, "models", regime=regime)

    def scratch(self, regime: str, configuration: str) -> Path:
        """Folder of checkpoints that only an interrupted training leaves behind."""
        return place_within(self.outputs, "scratch", regime=regime, configuration=configuration)

    def scratch_of_fold(self, regime: str, configuration: str, fold: int | str) -> Path:
        """Folder of the checkpoints of a fold that a job trains alone."""
        return self.scratch(regime, f"{configuration}_fold_{fold}")

    def timings(self, regime: str, configuration: str) -> Path:
        """Folder of how long each fold's epochs took; no result holds what the clock said."""
        return place_within(self.outputs, "timings", regime=regime, configuration=configuration)

    @property
    def annotations(self) -> Path:
        """Folder of machine labels made by the gold model."""
        return self.find("annotations")

    @property
    def annotated(self) -> Path:
        """Folder of the label maps made by the gold model."""
        return self.annotations / files.LABELS

    def selection(self, regime: str) -> Path:
        """Folder of the configuration choice of a regime."""
        return self.find("selection", regime=regime)

    def choice(self, regime: str) -> Path:
        """Which configurations and which clean-up a regime predicts with."""
        return self.selection(regime) / files.CHOICE

    def predictions(self, regime: str) -> Path:
        """Folder of the test label maps and confidences of a regime."""
        return self.find("predictions", regime=regime)

    def confidence(self, regime: str) -> Path:
        """Table of how sure a regime's networks were of each test exam."""
        return self.predictions(regime) / files.CONFIDENCE

    def predicted(self, regime: str) -> Path:
        """Folder of the test label maps of a regime."""
        return self.predictions(regime) / files.LABELS

    def scores(self, regime: str, ruler: str) -> Path:
        """Folder of the scores of a regime under a ruler."""
        return self.find("scores", regime=regime, ruler=ruler)

    def score_table(self, regime: str, ruler: str) -> Path:
        """Table of the scores of a regime under a ruler: exam x structure x metric."""
        return self.scores(regime, ruler) / files.SCORES

    def beyond_table(self, regime: str, ruler: str) -> Path:
        """Table of the scores of test exams without an expert label, by a ruler made of predictions."""
        return self.scores(regime, ruler) / files.BEYOND

    @property
    def audits(self) -> Path:
        """Folder of all audits."""
        return place_within(self.outputs, "audits")

    def audit(self, regime: str, ruler: str) -> Path:
        """Folder of the verdict tables of a regime under a ruler."""
        return place_within(self.audits, regime=regime, ruler=ruler)

    def comparison(self, kind: str, name: str) -> Path:
        """Folder of a comparison: `rulers` of a regime, or `regimes` under a ruler."""
        return place_within(self.comparisons, kind=kind, comparison=name)

    @property
    def comparisons(self) -> Path:
        """Folder of all comparisons."""
        return place_within(self.outputs, "comparisons")

    @property
    def report(self) -> Path:
        """Folder of the page and its figures."""
        return place_within(self.outputs, "report")

    @property
    def published(self) -> Path:
        """File that says which results were shown in MLflow; beside the store, so that it goes with it."""
        return place_within(self.root / "mlruns", "published") / f"{self.inputs.name}.json"

    @property
    def how_to_fill(self) -> str:
        """Say how audits come into a folder beside the pipeline's; nothing where this is the pipeline's."""
        if self.outputs == self.inputs:
            return ""
        return (
            "; audits of one folder are read together, so make them in a folder of your own and name it in each "
            "command: paths=sweep paths.outputs=sweeps/NAME, with audit -m ruler=gold,silver first"
        )

    def show(self, path: Path) -> str:
        """Write a path for a message: as seen from the working folder."""
        return self.relative(path) if Path.cwd() == self.root else show_path(path)

    def relative(self, path: Path) -> str:
        """Write a path as seen from the project root, as it is kept."""
        return (
            path.relative_to(self.root).as_posix()
            if path.is_relative_to(self.root)
            else path.as_posix()
        )
