"""Prediction takes the weights that it is asked for: those of the last epoch, or of the best one."""

from pathlib import Path

import pytest
import torch
from small_line import BASE, NETWORK, command, read_tree

FOLD = BASE / "models" / "gold" / "3d_fullres" / "fold_0"
ASKED = ("predict", "regime=gold", *NETWORK)


def test_the_best_weights_predict_where_they_are_asked_for(
    small_line: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    best = torch.load(FOLD / "best.pt", weights_only=True)
    generator = torch.Generator().manual_seed(1)
    best["network_weights"] = {
        name: torch.randn(tensor.shape, generator=generator)
        for name, tensor in best["network_weights"].items()
    }
    torch.save(best, FOLD / "best.pt")
    predictions = small_line / BASE / "predictions" / "gold" / "labels"
    assert command(*ASKED) == 0
    by_last = read_tree(predictions)
    assert command(*ASKED, "regime.checkpoint=checkpoint_best.pth") == 0
    by_best = read_tree(predictions)
    (FOLD / "final.pt").write_bytes((FOLD / "best.pt").read_bytes())
    assert command(*ASKED) == 0
    assert by_last != by_best
    assert read_tree(predictions) == by_best
    capsys.readouterr()
    assert command(*ASKED, "regime.checkpoint=checkpoint_first.pth") == 1
    told = capsys.readouterr().err
    assert "networks that were trained here have checkpoint_final.pth or checkpoint_best.pth" in (
        " ".join(told.split())
    )
