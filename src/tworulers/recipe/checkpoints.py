"""Where an interrupted fold goes on: its newest checkpoint, and the one before it for when that is damaged."""

from collections.abc import Callable
from pathlib import Path

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Checkpoint

from tworulers.recipe.archive import require_whole
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
