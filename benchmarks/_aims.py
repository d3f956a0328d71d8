"""The rows of the page of benchmarks, in its order: what is held against what, the aim, and what bounds it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Aim:
    """What a row should reach: a ratio to the peer (1: level), seconds, memory in MB, or no more than the peer."""

    ratio: float | None = None
    seconds: float | None = None
    peak_mb: float | None = None
    peak_of_peer: bool = False

    def tell(self) -> str:
        """Say it in a few words."""
        said = []
        if self.ratio is not None:
            said.append("level" if self.ratio == 1 else f"{self.ratio:g} x")
        if self.seconds is not None:
            said.append(f"{self.seconds:g} s")
        if self.peak_mb is not None:
            said.append(f"{self.peak_mb / 1000:g} GB")
        if self.peak_of_peer:
            said.append("peak at most the peer's")
        return ", ".join(said)


LEVEL = 0.95
"""From this ratio on two sides are level: processor seconds swing by more."""


@dataclass(frozen=True)
class Planned:
    """A row before it is measured."""

    part: str
    title: str
    peer: str
    aim: Aim
    bound_by: str


SCORE, RECIPE, AUDIT = "Scoring", "The recipe, beside nnU-Net v2", "Audits"
GPU = "The paper's own plan on a GPU"
PAPER_STEP_S = 0.58
"""Seconds of a step in the authors' log: 144 s an epoch of 250."""

ROWS = {
    "score_surface_distance": Planned(
        SCORE,
        "one exam 512 x 512 x 15, two structures: Dice, three HD95, surface Dice, mean distance",
        "surface-distance, HD95 alone",
        Aim(3.5),
        "looking around surface points, and finding the surfaces",
    ),
    "score_monai": Planned(
        SCORE,
        "the same",
        "MONAI, voxel HD95 alone",
        Aim(4.5),
        "looking around surface points, and finding the surfaces",
    ),
    "score_228": Planned(
        SCORE,
        "exams of that size by 2 rulers, read and scored, 2 processes (the aim is for 228 exams)",
        "a loop over surface-distance with as many processes",
        Aim(3.5),
        "unpacking the files, then the surfaces",
    ),
    "judge_large": Planned(
        SCORE,
        "judge five exams 512 x 512 x 200 with 30 structures, two processes",
        "",
        Aim(seconds=120),
        "reading the files, then the surfaces",
    ),
    "preprocess_3d": Planned(
        RECIPE, "preprocess 50 exams, 3d", "nnU-Net", Aim(3), "zlib and file calls"
    ),
    "preprocess_2d": Planned(
        RECIPE, "preprocess 50 exams, 2d", "nnU-Net", Aim(2), "zlib and file calls"
    ),
    "step_3d": Planned(
        RECIPE, "training step, hippocampus 3d 40 x 56 x 40", "nnU-Net", Aim(1), "convolutions"
    ),
    "step_2d": Planned(
        RECIPE, "training step, hippocampus 2d 56 x 40", "nnU-Net", Aim(1), "convolutions"
    ),
    "step_paper": Planned(
        RECIPE,
        "training step, the paper's network on an eighth of its patch",
        "nnU-Net",
        Aim(1),
        "convolutions",
    ),
    "step_3d_bf16": Planned(RECIPE, "step 3d in bf16", "nnU-Net in fp32", Aim(1.5), "convolutions"),
    "step_2d_bf16": Planned(
        RECIPE,
        "step 2d in bf16",
        "nnU-Net in fp32",
        Aim(1.2),
        "convolutions, normalisation in fp32",
    ),
    "step_paper_bf16": Planned(
        RECIPE, "step of the paper's network in bf16", "nnU-Net in fp32", Aim(1.5), "convolutions"
    ),
    "predict_3d": Planned(
        RECIPE, "predict one hippocampus, 3d, 8 mirrors", "nnU-Net", Aim(1), "the network"
    ),
    "predict_2d": Planned(
        RECIPE, "predict one hippocampus, 2d, 4 mirrors", "nnU-Net", Aim(2), "the network"
    ),
    "predict_3d_bf16": Planned(
        RECIPE, "the same, 3d, in bf16", "nnU-Net in fp32", Aim(2), "the network"
    ),
    "predict_2d_bf16": Planned(
        RECIPE, "the same, 2d, in bf16", "nnU-Net in fp32", Aim(3.5), "the network"
    ),
    "predict_paper": Planned(
        RECIPE,
        "predict one exam 512 x 512 x 15, the paper's plan, no mirrors",
        "nnU-Net",
        Aim(1, peak_of_peer=True),
        "the network",
    ),
    "predict_paper_bf16": Planned(
        RECIPE, "the same in bf16", "nnU-Net in fp32", Aim(1.7, peak_of_peer=True), "the network"
    ),
    "battery": Planned(
        AUDIT,
        "published part of an audit, 63 tests, 10,000 draws and permutations",
        "a plain loop over scipy.stats.bootstrap and data-frame slices, scaled",
        Aim(300),
        "drawing random numbers",
    ),
    "auc_1e6": Planned(
        AUDIT,
        "AUC matrix, 10^6 scores, 8 groups",
        "a double loop over scikit-learn",
        Aim(5),
        "sorting the scores",
    ),
    "auc_1e7": Planned(
        AUDIT,
        "AUC matrix, 10^7 scores, 8 groups",
        "a double loop over scikit-learn",
        Aim(5),
        "sorting the scores",
    ),
    "audit_10k": Planned(
        AUDIT, "audit of 10,000 exams, all draws", "", Aim(seconds=60, peak_mb=1000), "draws"
    ),
    "audit_100k": Planned(
        AUDIT, "audit of 100,000 exams, all draws", "", Aim(seconds=600, peak_mb=2000), "draws"
    ),
    "compare_10k": Planned(
        AUDIT, "compare, 10,000 exams, all draws", "", Aim(seconds=90, peak_mb=1500), "draws"
    ),
    "compare_30k": Planned(
        AUDIT, "compare, 30,000 exams, all draws", "", Aim(seconds=300, peak_mb=2000), "draws"
    ),
    "structures_118": Planned(
        AUDIT,
        "audit, compare and page, 1,000 exams, 118 structures",
        "",
        Aim(seconds=240),
        "tests of every structure, then their figures",
    ),
    "risk_1e6": Planned(
        AUDIT,
        "risk, 10^6 rows, 50 groups, patients repeated, figures",
        "",
        Aim(seconds=60, peak_mb=2000),
        "reading the table and sorting the scores",
    ),
    "gpu_step": Planned(
        GPU,
        "training step, 16 x 512 x 512, batch of 2, 16-mixed",
        "",
        Aim(seconds=PAPER_STEP_S),
        "convolutions",
    ),
    "gpu_step_bf16": Planned(
        GPU, "the same in bf16-mixed", "", Aim(seconds=PAPER_STEP_S), "convolutions"
    ),
    "gpu_step_channels_last": Planned(
        GPU, "the same, channels last", "", Aim(seconds=PAPER_STEP_S), "convolutions"
    ),
    "gpu_step_compiled": Planned(
        GPU, "the same, compiled", "", Aim(seconds=PAPER_STEP_S), "convolutions"
    ),
    "gpu_step_compiled_channels_last": Planned(
        GPU, "the same, compiled, channels last", "", Aim(seconds=PAPER_STEP_S), "convolutions"
    ),
    "gpu_predict": Planned(
        GPU, "predict one exam 512 x 512 x 15, 8 mirrors", "", Aim(), "the network"
    ),
    "gpu_predict_fast": Planned(GPU, "the same with inference=fast", "", Aim(), "the network"),
}
