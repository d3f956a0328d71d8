"""How large a step training takes: optimiser and learning rate, by epoch or by iteration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler

from tworulers.schema.settings import Recipe


def poly_rate(initial: float, done: float, total: float, exponent: float = 0.9) -> float:
    """Learning rate that falls to zero as a power: initial * (1 - done / total) ** exponent.

    `done` counts finished epochs or iterations, `total` all of them. Chen et al. 2018 (DeepLab).
    """
    return float(initial * (1 - done / total) ** exponent)


def warm_poly_rate(
    initial: float, done: int, total: int, warmup: int, exponent: float = 0.9
) -> float:
    """Learning rate that rises evenly over `warmup` iterations, then falls as `poly_rate`.

    The first iteration gets initial / warmup. Without warm-up it is `poly_rate`.
    """
    if done < warmup:
        return initial * (done + 1) / warmup
    return poly_rate(initial, done, total, exponent)


def learning_rate(recipe: Recipe, epoch: int, iteration: int) -> float:
    """Learning rate of a recipe at an iteration of an epoch, both counted from 0.

    Recipes without warm-up change it once an epoch, recipes with warm-up at every iteration.
    """
    if recipe.warmup_iterations == 0:
        return poly_rate(recipe.learning_rate, epoch, recipe.epochs, recipe.poly_exponent)
    return warm_poly_rate(
        recipe.learning_rate,
        epoch * recipe.iterations + iteration,
        recipe.epochs * recipe.iterations,
        recipe.warmup_iterations,
        recipe.poly_exponent,
    )


class RecipeRate(LRScheduler):
    """The learning rate of a recipe as a scheduler that is told of every step, counted over the whole run.

    torch's own multiply the first rate by a factor, which rounds otherwise than `learning_rate`.
    """

    def __init__(self, optimizer: torch.optim.Optimizer, recipe: Recipe) -> None:
        self.recipe = recipe
        super().__init__(optimizer)

    def get_lr(self) -> list[float | torch.Tensor]:
        """The rate of the next step, the same for all parameters."""
        rate = learning_rate(self.recipe, *divmod(self.last_epoch, self.recipe.iterations))
        return [rate for _ in self.base_lrs]

    def state_dict(self) -> dict[str, Any]:
        """How far the run is; the recipe is what it is built with."""
        return {name: value for name, value in super().state_dict().items() if name != "recipe"}


def build_optimizer(parameters: Iterable[nn.Parameter], recipe: Recipe) -> torch.optim.Optimizer:
    """The optimiser that a recipe names: `sgd` (Nesterov momentum) or `adamw`.

    Weight decay acts on every parameter, norms and biases too.

    Raises
    ------
    ValueError
        Another name.
    """
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(
            parameters,
            recipe.learning_rate,
            momentum=recipe.momentum,
            nesterov=True,
            weight_decay=recipe.weight_decay,
        )
    if recipe.optimizer == "adamw":
        return torch.optim.AdamW(parameters, recipe.learning_rate, weight_decay=recipe.weight_decay)
    raise ValueError(f"Unknown optimizer {recipe.optimizer!r}: expected 'sgd' or 'adamw'.")
