"""Learning rates over a training, and the optimisers that recipes name."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tworulers.recipe.schedule import RecipeRate, build_optimizer, learning_rate, warm_poly_rate
from tworulers.schema.settings import Recipe


def test_full_recipe_steps_once_an_epoch() -> None:
    recipe = Recipe()
    assert learning_rate(recipe, 0, 0) == learning_rate(recipe, 0, 249) == 0.01
    assert learning_rate(recipe, 500, 7) == pytest.approx(0.005358867312681466, rel=1e-12)


def test_warm_up_rises_evenly_and_then_falls() -> None:
    rates = [warm_poly_rate(0.01, i, 400, 20) for i in range(400)]
    np.testing.assert_allclose(rates[:20], 0.01 * np.arange(1, 21) / 20)
    assert rates[20] == pytest.approx(0.01 * 0.95**0.9)
    assert np.all(np.diff(rates[20:]) < 0)
    assert rates[-1] > 0


def test_warm_up_counts_iterations_across_epochs() -> None:
    recipe = Recipe(epochs=4, iterations=10, warmup_iterations=5, learning_rate=1.0)
    assert learning_rate(recipe, 0, 1) == pytest.approx(0.4)
    assert learning_rate(recipe, 2, 0) == pytest.approx(0.5**0.9)


@pytest.mark.parametrize("warmup", [0, 5])
def test_the_scheduler_gives_every_step_its_rate_also_when_it_is_taken_up_again(
    warmup: int,
) -> None:
    recipe = Recipe(epochs=4, iterations=10, warmup_iterations=warmup, learning_rate=0.3)
    expected = [learning_rate(recipe, *divmod(step, 10)) for step in range(40)]
    rates: list[float] = []
    saved: dict[str, Any] = {}
    for stop in (23, 40):
        optimizer = build_optimizer([nn.Parameter(torch.zeros(1))], recipe)
        rate = RecipeRate(optimizer, recipe)
        if saved:
            optimizer.load_state_dict(saved["optimizer"])
            rate.load_state_dict(saved["rate"])
        while len(rates) < stop:
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            rate.step()
        saved = {"optimizer": optimizer.state_dict(), "rate": rate.state_dict()}
    assert rates == expected
    assert "recipe" not in saved["rate"]


def test_full_recipe_takes_nesterov_steps() -> None:
    parameter = nn.Parameter(torch.tensor([1.0]))
    optimizer = build_optimizer([parameter], Recipe())
    value, velocity = 1.0, 0.0
    for _ in range(3):
        parameter.grad = torch.tensor([0.5])
        optimizer.step()
        gradient = 0.5 + 3e-5 * value
        velocity = 0.99 * velocity + gradient
        value -= 0.01 * (gradient + 0.99 * velocity)
    assert parameter.item() == pytest.approx(value, rel=1e-6)


def test_adamw_and_unknown_names() -> None:
    parameters = [nn.Parameter(torch.zeros(1))]
    recipe = Recipe(optimizer="adamw", learning_rate=0.004)
    optimizer = build_optimizer(parameters, recipe)
    assert isinstance(optimizer, torch.optim.AdamW)
    assert optimizer.param_groups[0]["lr"] == 0.004
    with pytest.raises(ValueError, match=r"'lion'.*'sgd' or 'adamw'"):
        build_optimizer(parameters, Recipe(optimizer="lion"))
