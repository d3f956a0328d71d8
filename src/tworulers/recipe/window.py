"""What a network says about whole images: overlapping tiles, mirrored, weighted and merged.

Isensee et al. 2021. Tiles of any number of images share a batch, and an image that fits into one
tile needs no merging, which is what makes small images fast on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, combinations, islice, product
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from monai.inferers import Inferer
from scipy import ndimage
from torch import Tensor, nn
from torch.nn import functional as F

HIGHEST_WEIGHT = 10.0
Index = tuple[int | slice, ...]


@dataclass
class _Canvas:
    """One padded image, the logits gathered so far, and how to cut the padding off again."""

    image: Tensor
    tiles: tuple[Index, ...]
    inner: tuple[slice, ...]
    merged: bool
    logits: Tensor | None = None
    weight: Tensor | None = None


def tile_starts(size: int, tile: int, overlap: float = 0.5) -> tuple[int, ...]:
    """First voxels of the tiles along one axis, evenly spread from end to end.

    `overlap` is the largest step between tiles as a share of the tile (up to rounding); `size`
    must be at least `tile`.
    """
    steps = int(np.ceil((size - tile) / (tile * overlap)))
    if steps == 0:
        return (0,)
    return tuple(int(np.round(i * (size - tile) / steps)) for i in range(steps + 1))


@lru_cache(maxsize=8)
def importance_map(tile: tuple[int, ...]) -> npt.NDArray[np.float64]:
    """Weight of each voxel of a tile: a Gaussian of an eighth of its edge, 10 at the centre."""
    weight: npt.NDArray[np.float64] = np.zeros(tile)
    weight[tuple(n // 2 for n in tile)] = 1
    weight = ndimage.gaussian_filter(weight, [n / 8 for n in tile], mode="constant", truncate=4)
    weight *= HIGHEST_WEIGHT / weight.max()
    weight.flags.writeable = False
    return weight


def half_map(tile: tuple[int, ...]) -> Tensor:
    """`importance_map` in half precision; weights that vanish get the smallest that does not."""
    weight = torch.from_numpy(importance_map(tile).copy()).half()
    weight[weight == 0] = weight[weight > 0].min()
    return weight


@dataclass(frozen=True)
class MirroredWindowInferer(Inferer):
    """Logits of prepared images, from overlapping tiles averaged over their mirror images.

    MONAI's `SlidingWindowInferer` places tiles, weights them and pads images otherwise, and takes one image size a
    call, so ours stays.

    Parameters
    ----------
    patch_size
        Three numbers for volumes, two for slices.
    mirror_axes
        Axes of the patch over whose mirror images logits are averaged.
    overlap
        Step between tiles as a share of the tile.
    accumulate
        `float` merges tiles exactly; `half` reproduces nnU-Net, whose weights underflow near the
        corners of an image.
    batch
        Tiles a forward pass.
    autocast
        Lower precision of the forward pass, None for full.
    gather_on
        Where the images and their logits are kept (the device of the network if None): `cpu`
        bounds the memory of a GPU by one batch of tiles.
    """

    patch_size: Sequence[int]
    mirror_axes: Sequence[int] = ()
    overlap: float = 0.5
    accumulate: Literal["float", "half"] = "float"
    batch: int = 4
    autocast: torch.dtype | None = None
    gather_on: torch.device | str | None = None

    def __call__(self, inputs: Tensor, network: nn.Module) -> Tensor:
        """Predict images (exam, channel, z, y, x) of one size: logits (exam, class, z, y, x)."""
        return torch.stack(self.predict_images(list(inputs), network))

    @torch.inference_mode()
    def predict_images(
        self, images: Sequence[Tensor | npt.NDArray[Any]], network: nn.Module
    ) -> list[Tensor]:
        """Predict images of any sizes.

        Parameters
        ----------
        images
            Each (channel, z, y, x); smaller ones than the patch are padded with zeros.
        network
            Maps (batch, channel, *patch_size) to (batch, class, *patch_size); used as it is (call
            `eval()` before), on the device of its weights and in their precision.

        Returns
        -------
        list of (class, z, y, x), in the order of the images; float32, or float16 with `half`.
        """
        weights = next(network.parameters())
        device = weights.device
        home = torch.device(self.gather_on) if self.gather_on is not None else device
        patch = tuple(int(n) for n in self.patch_size)
        exact = self.accumulate == "float"
        canvases = [_lay_out(_as_tensor(x).to(home), patch, self.overlap, exact) for x in images]
        if exact:
            weight = torch.from_numpy(importance_map(patch).copy()).float().to(home)
        else:
            weight = half_map(patch).to(home)
        jobs = ((canvas, index) for canvas in canvases for index in canvas.tiles)
        for group in _batches(jobs, self.batch):
            tiles = torch.stack([canvas.image[(slice(None), *index)] for canvas, index in group])
            logits = _predict_mirrored(
                network, tiles.to(device, weights.dtype), self.mirror_axes, self.autocast
            )
            for (canvas, index), values in zip(group, logits.to(home), strict=True):
                _gather(canvas, index, values, weight)
        return [_finish(canvas) for canvas in canvases]


def _as_tensor(image: Tensor | npt.NDArray[Any]) -> Tensor:
    tensor = image if isinstance(image, Tensor) else torch.from_numpy(np.ascontiguousarray(image))
    if tensor.ndim != 4:
        raise ValueError(
            f"Expected an image of shape (channel, z, y, x), found {tuple(tensor.shape)}."
        )
    return tensor.float()


def _lay_out(image: Tensor, patch: tuple[int, ...], overlap: float, exact: bool) -> _Canvas:
    """Pad an image to at least the patch and list its tiles."""
    d = len(patch)
    size = image.shape[1:]
    missing = [max(0, p - n) for n, p in zip(size[-d:], patch, strict=True)]
    before = [m // 2 for m in missing]
    # torch pads from the last axis backwards.
    pads = [pad for b, m in zip(before[::-1], missing[::-1], strict=True) for pad in (b, m - b)]
    padded = F.pad(image, pads) if any(missing) else image
    starts = [tile_starts(n, p, overlap) for n, p in zip(padded.shape[-d:], patch, strict=True)]
    windows = [
        tuple(slice(s, s + p) for s, p in zip(corner, patch, strict=True))
        for corner in product(*starts)
    ]
    leading: list[Index] = [(z,) for z in range(size[0])] if d < len(size) else [()]
    inner = [slice(b, b + n) for b, n in zip(before, size[-d:], strict=True)]
    return _Canvas(
        image=padded,
        tiles=tuple((*z, *window) for z in leading for window in windows),
        inner=(slice(None), *(slice(None),) * (len(size) - d), *inner),
        merged=len(windows) > 1 or not exact,
    )


def _batches(
    jobs: Iterator[tuple[_Canvas, Index]], n: int
) -> Iterator[list[tuple[_Canvas, Index]]]:
    while group := list(islice(jobs, n)):
        yield group


def _predict_mirrored(
    network: nn.Module, tiles: Tensor, mirror_axes: Sequence[int], autocast: torch.dtype | None
) -> Tensor:
    """Logits averaged over every combination of mirrored axes."""
    axes = [axis + 2 for axis in mirror_axes]
    flips = list(chain.from_iterable(combinations(axes, n) for n in range(1, len(axes) + 1)))
    cast = torch.autocast(tiles.device.type, autocast) if autocast is not None else nullcontext()
    with cast:
        total: Tensor = network(tiles).float()
        for flip in flips:
            total += network(tiles.flip(flip)).flip(flip)
    return total / (len(flips) + 1) if flips else total


def _gather(canvas: _Canvas, index: Index, values: Tensor, weight: Tensor) -> None:
    if canvas.logits is None:
        size = canvas.image.shape[1:]
        canvas.logits = values.new_zeros((len(values), *size), dtype=weight.dtype)
        if canvas.merged:
            canvas.weight = values.new_zeros(size, dtype=weight.dtype)
    if canvas.weight is None:
        canvas.logits[(slice(None), *index)] = values
    else:
        canvas.logits[(slice(None), *index)] += values * weight
        canvas.weight[index] += weight


def _finish(canvas: _Canvas) -> Tensor:
    assert canvas.logits is not None
    if canvas.weight is not None:
        canvas.logits /= canvas.weight
    return canvas.logits[canvas.inner]
