"""The network that a plan asks for: the residual-encoder U-Net, folded or not."""

from torch import nn

from tworulers.recipe.plan import Architecture
from tworulers.recipe.resenc import ResidualEncoderUNet
from tworulers.recipe.space_to_depth import SpaceToDepthUNet


def build_network(architecture: Architecture, n_channels: int, n_classes: int) -> nn.Module:
    """Build and initialise the network of a plan (on the current default device).

    Parameters
    ----------
    architecture
        Its numbers; `space_to_depth` above 1 wraps the network in the fold and unfold.
    n_channels
        Image channels.
    n_classes
        Labels, background included.

    Raises
    ------
    ValueError
        A network that is not a residual encoder, or one without a decoder.
    """
    if architecture.network not in ("ResidualEncoderUNet", "ResEncUNet"):
        raise ValueError(
            f"The plan asks for a {architecture.network}; only ResidualEncoderUNet is built here. "
            "Plan with one of the residual-encoder presets M, L or XL."
        )
    if architecture.n_stages < 2:
        raise ValueError(
            "The plan has a single stage, so no decoder and no output: the patch "
            "is too small to be halved once. Resample finer or use larger images."
        )
    if all(f == 1 for f in architecture.space_to_depth):
        return ResidualEncoderUNet(architecture, n_channels, n_classes)
    return SpaceToDepthUNet(architecture, n_channels, n_classes)
