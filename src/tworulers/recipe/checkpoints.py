"""What a training keeps on its way: where it goes on after a break, and its best weights so far."""

from collections.abc import Callable
from math import isfinite
from pathlib import Path

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Checkpoint

from tworulers.recipe.archive import require_whole
from tworulers.recipe.interop import Member
from tworulers.recipe.module import EpochRecord, SegmentationModule
from tworulers.schema.atomic import written_beside
from tworulers.schema.damage import DAMAGE, DamagedError

LAST, EARLIER = "last.ckpt", "earlier.ckpt"


class TwoCheckpoints(Checkpoint):
    """Keeps the newest checkpoint and the one before it, each whole or not at all.

    Parameters
    ----------
    folder
        Where they lie.
    every
        Epochs between two of them.
    """

    def __init__(self, folder: Path, every: int) -> None:
        self.folder, self.every = folder, every

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:  # noqa: ARG002
        """Write a checkpoint where one is due."""
        if (trainer.current_epoch + 1) % self.every:
            return
        fresh = self.folder / f".{LAST}"
        trainer.save_checkpoint(fresh)
        if trainer.is_global_zero:
            if (self.folder / LAST).is_file():
                (self.folder / LAST).replace(self.folder / EARLIER)
            fresh.replace(self.folder / LAST)


class BestWeights(Checkpoint):
    """Keeps the weights of the epoch with the best smoothed pseudo-Dice.

    Parameters
    ----------
    path
        Where they lie.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_epoch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Write the weights if no epoch before was as good."""
        assert isinstance(pl_module, SegmentationModule)
        *before, record = pl_module.curve
        known = [r.smoothed_pseudo_dice for r in before if isfinite(r.smoothed_pseudo_dice)]
        if trainer.is_global_zero and record.smoothed_pseudo_dice > max(known, default=-1.0):
            save_weights(pl_module.member, self.path, record)


def find_checkpoint(folder: Path, tell: Callable[[str], None]) -> Path | None:
    """Find the newest checkpoint that is whole; that an older one is used is told.

    Raises
    ------
    DamagedError
        There are checkpoints, and none is whole.
    """
    damaged: list[str] = []
    for path in (folder / LAST, folder / EARLIER):
        if not path.is_file():
            continue
        try:
            require_whole(path)
        except DAMAGE as error:
            damaged.append(f"{path} is damaged ({error})")
            continue
        if damaged:
            tell(f"{damaged[0]}: going on from the one before it, {path.name}")
        return path
    if damaged:
        raise DamagedError(
            f"{' and '.join(damaged)}: delete {'both' if len(damaged) > 1 else 'it'} to begin this fold anew, or put a "
            "copy back, and run the same command again"
        )
    return None


def save_weights(member: Member, path: Path, record: EpochRecord) -> None:
    """Write the weights of a network, its mirrored axes and its epoch, whole or not at all."""
    content = {
        "network_weights": {k: v.cpu() for k, v in member.network.state_dict().items()},
        "mirror_axes": list(member.mirror_axes),
        "epoch": record.epoch,
        "smoothed_pseudo_dice": record.smoothed_pseudo_dice,
    }
    # Given a path, torch writes its name into the file; given a stream, equal weights are equal files.
    with written_beside(path) as temporary, temporary.open("wb") as stream:
        torch.save(content, stream)
