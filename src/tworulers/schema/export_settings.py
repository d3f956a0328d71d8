"""Where trained networks go as files of another tool."""

from dataclasses import dataclass


@dataclass
class Export:
    """Where trained networks go as files of another tool."""

    folder: str | None = None
    """nnU-Net's folder of results, or the bundle that is made."""
    form: str = "nnunet"
    """Whose files are written: `nnunet`, or `monai` for a bundle."""
