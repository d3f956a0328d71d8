"""Every command with its options: what it does in a sentence, and two examples."""

from dataclasses import dataclass

from tworulers.cli import forms
from tworulers.cli.forms import Form


@dataclass(frozen=True)
class Option:
    """A short form.

    Attributes
    ----------
    flag : as it is typed.
    shown : what stands for its value in the help; empty where it takes none.
    key : the setting whose sentence is its help; empty where it is none of a stage's.
    form : how its values become overrides.
    said : its help where there is no such sentence, or how the value is written.
    """

    flag: str
    shown: str
    key: str
    form: Form
    said: str = ""


@dataclass(frozen=True)
class Command:
    """A command: a stage of the line, or a program beside it.

    Attributes
    ----------
    name : as it is typed.
    said : what it does.
    options : its short forms.
    examples : lines that can be typed.
    part : the heading it stands below.
    choices : groups of `conf/` that are chosen by name.
    """

    name: str
    said: str
    options: tuple[Option, ...] = ()
    examples: tuple[str, ...] = ()
    part: str = ""
    choices: tuple[str, ...] = ()


OWN, LINE, WHOLE = "your own files", "the pipeline, a stage each", "the whole of it"

BY = Option(
    "--by", "LIST", "attributes.by", forms.take_groupings,
    "numbers are cut by :median, :3 (equal parts), :40/60 (edges) or :levels",
)  # fmt: skip
MARGIN = Option(
    "--margin", "LIST", "audit.margin",
    forms.take_numbers("audit.margin", "--margin", "dice=2,failures=10"), "dice=2,failures=10",
)  # fmt: skip
SUCCESS = Option(
    "--success", "LIST", "audit.thresholds",
    forms.take_numbers("audit.thresholds", "--success", "dice=0.7,hd95=5"), "dice=0.7,hd95=5",
)  # fmt: skip
QUICK = Option(
    "--fast", "", "", forms.take_word("audit=quick"),
    "few draws, for a first look: intervals and permutation p are rough",
)  # fmt: skip
SHARED = Option("--shared", "", "report.shared", forms.take_word("report.shared=true"))
OUT = Option("--out", "DIR", "paths.outputs", forms.take_text("paths.outputs"))
PROCESSES = Option("--processes", "N", "processes", forms.take_text("processes"))

JUDGE = Command(
    "judge",
    "score folders of label maps by one or more references, and audit",
    (
        Option(
            "--predictions", "DIR", "predictions.folder", forms.take_predictions,
            "several models as NAME=DIR, the flag once each",
        ),
        Option(
            "--reference", "NAME=WHO:DIR", "predictions.references", forms.take_references,
            "the flag once each",
        ),
        Option("--table", "FILE", "predictions.cohort", forms.take_text("predictions.cohort")),
        BY,
        Option(
            "--structures", "LIST", "predictions.structures",
            forms.take_numbers("predictions.structures", "--structures", "anterior=1,posterior=2", whole=True),
            "anterior=1,posterior=2",
        ),
        MARGIN,
        SUCCESS,
        Option(
            "--columns", "LIST", "predictions.cohort_columns",
            forms.take_columns("--columns", "predictions.cohort_columns"),
        ),
        Option("--pattern", "TEXT", "predictions.pattern", forms.take_text("predictions.pattern")),
        Option("--name", "NAME", "predictions.name", forms.take_text("predictions.name")),
        Option("--incomplete", "", "predictions.incomplete", forms.take_word("predictions.incomplete=true")),
        SHARED, QUICK, PROCESSES, OUT,
    ),
    (
        "tworulers judge --predictions mine --reference expert=gold:drawn --reference machine=silver:made "
        "--table exams.csv --by sex,age:median,site --structures anterior=1,posterior=2",
        "tworulers judge --predictions v1=out/v1 --predictions v2=out/v2 --reference expert=gold:drawn --by none",
    ),
    OWN,
)  # fmt: skip

SCORES = Option(
    "--scores", "WHO:FILE", "scores.file", forms.take_scores,
    "WHO drew the labels: gold (experts), silver (a machine), ...",
)  # fmt: skip
EXAMS = Option("--table", "FILE", "scores.cohort", forms.take_exams_of_scores)
COLUMNS = Option(
    "--columns", "LIST", "scores.columns",
    forms.take_columns("--columns", "scores.columns", "against.columns"),
)  # fmt: skip

AUDIT = Command(
    "audit",
    "audit a table of scores, or a model of the pipeline under a ruler",
    (SCORES, EXAMS, BY, MARGIN, SUCCESS, COLUMNS, QUICK, OUT),
    (
        "tworulers audit --scores gold:expert.csv --table exams.csv --by sex,age:median --margin dice=2,failures=10",
        "tworulers audit regime=mix ruler=gold,silver -m",
    ),
    OWN,
    ("regime", "ruler", "attributes", "audit"),
)
COMPARE = Command(
    "compare",
    "compare two references over one model, or two models by one reference",
    (SCORES, EXAMS, BY, MARGIN, SUCCESS, COLUMNS, QUICK, OUT),
    (
        "tworulers compare --scores gold:expert.csv --scores silver:machine.csv --by sex,site",
        "tworulers compare --scores v1=gold:v1.csv --scores v2=gold:v2.csv --table exams.csv --by sex",
    ),
    OWN,
    ("attributes", "audit"),
)
RISK = Command(
    "risk",
    "audit a table of risk scores: the AUC matrix and what follows from it",
    (
        Option("--table", "FILE", "risk.file", forms.take_text("risk.file")),
        Option("--score", "COLUMN", "risk.score", forms.take_text("risk.score")),
        Option("--outcome", "COLUMN", "risk.outcome", forms.take_text("risk.outcome")),
        Option("--event", "VALUE", "risk.event", forms.take_text("risk.event")),
        Option(
            "--by", "LIST", "risk.groups", forms.take_groups_of_risk,
            "numbers are cut by :median, :3 (equal parts), :50/65/80 (edges)",
        ),
        Option("--person", "COLUMN", "risk.cluster", forms.take_text("risk.cluster")),
        Option("--not-computed", "LIST", "risk.sentinels", forms.take_texts("risk.sentinels"),
               "written --not-computed=-1"),
        Option("--probability", "", "risk.probability",
               forms.take_word("risk.probability=true", "risk.low=0", "risk.high=1")),
        Option("--use", "NAME", "use.name", forms.take_text("use")),
        OUT,
    ),
    (
        "tworulers risk --table scores.csv --score risk --outcome died --event 1 --by sex=gender,age:50/65/80",
        "tworulers risk risk=eicu risk.root=data/eicu_demo_apache",
    ),
    OWN,
    ("risk", "use"),
)  # fmt: skip
CHECK = Command(
    "check",
    "read a data set once, and list what is wrong with it",
    (
        Option("--dataset", "NAME", "dataset", forms.take_text("dataset"), "its layout: nnunet, manifest, folder, ..."),
        Option("--root", "DIR", "dataset.root", forms.take_text("dataset.root"), "folder of the data"),
        Option("--depth", "WORD", "check.depth", forms.take_text("check.depth")),
    ),
    (
        "tworulers check --dataset nnunet --root /data/Dataset001_Spine",
        "tworulers check --dataset hippocampus --root /data/Task04_Hippocampus --depth headers",
    ),
    OWN,
    ("dataset", "split", "attributes"),
)  # fmt: skip


def _stage(name: str, said: str, *choices: str, examples: tuple[str, ...]) -> Command:
    return Command(name, said, (OUT,), examples, LINE, ("dataset", *choices))


COMMANDS = (
    JUDGE, AUDIT, COMPARE, RISK, CHECK,
    Command("lock", "lock primary questions before scores are read", (),
            ("tworulers lock attributes=paper audit.primary=conf/primary/spine.yaml",
             "tworulers audit attributes=paper audit.primary=conf/primary/spine.yaml audit.family=primary"),
            OWN, ("attributes", "audit")),
    _stage("cohort", "who is in the study, and who is left out and why", "attributes", "split",
           examples=("tworulers cohort", "tworulers cohort dataset=nnunet dataset.root=/data/Dataset001_Spine")),
    _stage("split", "patients to training, validation and test", "split",
           examples=("tworulers split", "tworulers split split=paper split.seed=1 paths=sweep")),
    _stage("plan", "what a recipe makes of the images", "recipe",
           examples=("tworulers plan", "tworulers plan recipe=resenc_l")),
    _stage("preprocess", "images to arrays", "recipe", "configuration",
           examples=("tworulers preprocess configuration=2d",
                     "tworulers preprocess -m recipe=resenc_l configuration=2d,3d_fullres")),
    _stage("train", "train the folds of a regime in a configuration", "regime", "configuration", "recipe", "trainer",
           examples=("tworulers train regime=gold configuration=2d",
                     "tworulers train -m recipe=resenc_l trainer=gpu regime=gold,mix configuration=2d,3d_fullres")),
    _stage("annotate", "label the silver pool with the gold model", "regime", "recipe", "trainer", "inference",
           examples=("tworulers annotate regime=gold", "tworulers annotate regime=gold recipe=resenc_l trainer=gpu")),
    _stage("select", "choose a configuration or the ensemble, and the clean-up", "regime",
           examples=("tworulers select regime=mix", "tworulers select -m regime=gold,mix")),
    _stage("predict", "label every test exam with a regime's models", "regime", "recipe", "trainer", "inference",
           examples=("tworulers predict -m regime=gold,mix trainer=gpu",
                     "tworulers predict regime=gold regime.name=theirs 'regime.models=[path/to/Trainer__Plans__2d]'")),
    Command("export", "give a regime's trained networks to nnU-Net, or as a MONAI bundle",
            (Option("--folder", "DIR", "export.folder", forms.take_text("export.folder")),
             Option("--form", "WORD", "export.form", forms.take_text("export.form"))),
            ("tworulers export regime=gold --folder nnUNet_results",
             "tworulers export regime=mix --form monai --folder bundles/mix"),
            LINE, ("dataset", "regime")),
    _stage("score", "score a regime's predictions by a ruler", "regime", "ruler", "audit",
           examples=("tworulers score regime=mix ruler=gold", "tworulers score -m regime=gold,mix ruler=gold,silver")),
    _stage("report", "everything that was found, on one page", "attributes",
           examples=("tworulers report", "tworulers report report.shared=true")),
    Command("reproduce", "run the whole line of conf/grid.yaml, and show its verdict", (),
            ("tworulers reproduce", "tworulers reproduce --force report"), WHOLE),
    Command("status", "say which stages are out of date, and why", (), ("tworulers status",), WHOLE),
    Command("verify", "compare two results, or one with what is recorded", (),
            ("tworulers verify artifacts/phantom docs/example.json", "tworulers verify A B --exact"), WHOLE),
    Command("show", "print the verdict and what it cost", (OUT,), ("tworulers show", "tworulers show dataset=nnunet"),
            WHOLE, ("dataset",)),
    Command("publish", "show results in MLflow that were made without it", (),
            ("tworulers publish", "tworulers publish tracking.folder=artifacts/judged/mine"), WHOLE,
            ("dataset", "tracking")),
    Command("ui", "open all runs in MLflow, side by side", (), ("tworulers ui", "tworulers ui --port 5001"), WHOLE),
    Command("completion", "print what completes commands in bash or zsh", (),
            ('eval "$(tworulers completion bash)"', "tworulers completion zsh > ~/.zfunc/_tworulers"), WHOLE),
)  # fmt: skip
"""Every command, in the order of the help."""

BY_NAME = {command.name: command for command in COMMANDS}
STAGES = frozenset(BY_NAME) - {"reproduce", "status", "verify", "ui", "completion"}
"""Commands that are a module of `stages`; the others are programs beside them."""
