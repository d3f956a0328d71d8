"""How trained networks predict where not as recipe and trainer say, and how results name it."""

from __future__ import annotations

from tworulers.schema.running import Inference
from tworulers.schema.settings import Recipe, Trainer
from tworulers.schema.view import change_settings


def predict_with(inference: Inference, recipe: Recipe, trainer: Trainer) -> tuple[Recipe, Trainer]:
    """Return the recipe and the trainer that networks predict with; both as they are where nothing else is asked.

    Parameters
    ----------
    inference
        What is asked; it takes mirror images away and never adds any.
    recipe, trainer
        What holds for all that it leaves open.
    """
    step, precision = inference.tile_step, inference.precision
    return (
        change_settings(
            recipe,
            mirror=recipe.mirror and inference.mirror,
            tile_overlap=recipe.tile_overlap if step is None else step,
        ),
        change_settings(trainer, precision=precision or trainer.precision),
    )


def tell_inference(inference: Inference) -> str:
    """Say in a few words how prediction differs from what recipe and trainer say; nothing where it does not."""
    parts = [] if inference.mirror else ["no mirror images"]
    if inference.tile_step is not None:
        parts.append(f"tiles at steps of {inference.tile_step:g} of their edges")
    if inference.precision is not None:
        parts.append(inference.precision)
    return f"inference={inference.name}: {', '.join(parts)}" if parts else ""
