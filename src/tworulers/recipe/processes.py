"""The processes that share a training: sums over all of them, and leaving them for good."""

from __future__ import annotations

import gc
from typing import Any

import torch
from torch import Tensor
from torch import distributed as group


class _SumOverProcesses(torch.autograd.Function):
    """What `torch.distributed.nn.functional` has for this keeps the group for ever where it is first imported later on.

    Its functions then hold it as a default, so that its threads are joined while the interpreter ends, and a thread
    that asks for the interpreter at that moment aborts the process.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:  # noqa: ARG004
        return _sum(values)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:  # noqa: ARG004
        return _sum(gradients[0])


def sum_over_processes(values: Tensor) -> Tensor:
    """Sum a tensor over data-parallel processes, with gradient; the tensor itself where there is one process."""
    if count_processes() == 1:
        return values
    summed: Tensor = _SumOverProcesses.apply(values)  # type: ignore[no-untyped-call]
    return summed


def count_processes() -> int:
    """Count the processes that share the training."""
    return group.get_world_size() if group.is_available() and group.is_initialized() else 1


def leave_processes() -> None:
    """Wait for all processes, and end what they talked over, while the interpreter still runs."""
    if group.is_available() and group.is_initialized():
        group.barrier()
        group.destroy_process_group()
        gc.collect()


def _sum(values: Tensor) -> Tensor:
    summed = values.clone()
    group.all_reduce(summed)
    return summed
