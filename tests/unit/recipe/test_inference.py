"""How trained networks predict where not as their recipe says: no mirrors are added, the precision is what is asked."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from recipe_toy import FACTS, RECIPE, SPACING, TRAINER, draw_exam, make_plans

from tworulers.recipe import precision
from tworulers.recipe.inference import predict_with, tell_inference
from tworulers.recipe.interop import Member
from tworulers.recipe.network import build_network
from tworulers.recipe.precision import remark_on_precision
from tworulers.recipe.predict import ExamPredictor, PreparedImage
from tworulers.recipe.preprocess import preprocess_image
from tworulers.schema.running import Inference

FAST = Inference("fast", mirror=False, tile_step=0.75, precision="bf16-mixed")


def test_full_inference_is_as_recipe_and_trainer_say() -> None:
    assert predict_with(Inference("full"), RECIPE, TRAINER) == (RECIPE, TRAINER)
    assert tell_inference(Inference("full", maps=["probability"])) == ""


def test_mirrors_are_taken_away_and_never_added() -> None:
    for learnt in (True, False):
        recipe = replace(RECIPE, mirror=learnt)
        assert predict_with(Inference("full"), recipe, TRAINER)[0].mirror is learnt
        changed, trainer = predict_with(FAST, recipe, TRAINER)
        assert changed == replace(recipe, mirror=False, tile_overlap=0.75)
        assert trainer == replace(TRAINER, precision="bf16-mixed")
    assert (
        tell_inference(FAST)
        == "inference=fast: no mirror images, tiles at steps of 0.75 of their edges, bf16-mixed"
    )


def test_unknown_words_are_refused_together() -> None:
    with pytest.raises(
        ValueError, match=r"inference.precision: 'bf17'.*\n.*inference.maps: 'entropy'"
    ):
        Inference("odd", precision="bf17", maps=["probability", "entropy"])


@pytest.mark.parametrize("asked", ["16-mixed", "bf16-mixed", "16-true", "bf16-true"])
def test_networks_predict_in_the_precision_that_is_asked(asked: str) -> None:
    plans = make_plans()
    torch.manual_seed(0)
    network = build_network(plans.configuration("3d_fullres").architecture, 1, 3)
    image, _ = draw_exam(0)
    exam = PreparedImage("a", {"3d_fullres": preprocess_image(image, SPACING, plans, "3d_fullres")})
    seen: list[torch.dtype] = []
    next(m for m in network.modules() if isinstance(m, torch.nn.Conv3d)).register_forward_hook(
        lambda _, __, output: seen.append(output.dtype)
    )

    def predict(asked: str) -> np.ndarray:
        predictor = ExamPredictor(
            plans,
            FACTS,
            {"3d_fullres": [Member(network, ())]},
            RECIPE,
            replace(TRAINER, precision=asked),
        )
        return next(predictor.predict_exams([exam])).probabilities

    exact, rounded = predict("32-true"), predict(asked)
    assert seen == [torch.float32, torch.bfloat16 if asked.startswith("bf") else torch.float16]
    assert rounded.dtype == np.float32
    assert 0 < np.abs(exact - rounded).max() < 0.1


@pytest.mark.parametrize(
    ("there", "asked", "accelerator", "said"),
    [
        (["avx2"], "bf16-mixed", "cpu", "no instructions for bf16"),
        (["avx2"], "16-true", "cpu", "no instructions for fp16"),
        (["avx512_bf16"], "bf16-true", "cpu", ""),
        (["avx2"], "32-true", "cpu", ""),
        (["avx2"], "bf16-mixed", "gpu", ""),
        ([], "bf16-mixed", "cpu", ""),
    ],
)
def test_a_processor_without_the_instructions_is_told_of(
    monkeypatch: pytest.MonkeyPatch, there: list[str], asked: str, accelerator: str, said: str
) -> None:
    monkeypatch.setattr(precision, "list_instructions", lambda: there)
    remark = remark_on_precision(asked, accelerator)
    assert said in remark
    assert bool(remark) == bool(said)
