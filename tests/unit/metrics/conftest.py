"""The small label maps with known scores, and masks to measure on."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray


@dataclass(frozen=True)
class GoldenCase:
    name: str
    prediction: NDArray[np.uint8]
    reference: NDArray[np.uint8]
    affine: NDArray[np.float64]
    expected: dict[str, dict[str, float]]
    levels: dict[str, Any] | None

    @property
    def structures(self) -> dict[str, int]:
        return {label: int(label) for label in self.expected}


@dataclass(frozen=True)
class Golden:
    cases: list[GoldenCase]
    mean_fraction: dict[str, float]
    mean_volume_mm3: dict[str, float]

    def __getitem__(self, name: str) -> GoldenCase:
        return next(case for case in self.cases if case.name == name)


def _numbers(values: dict[str, Any]) -> dict[str, float]:
    return {key: float("nan" if value is None else value) for key, value in values.items()}


@pytest.fixture(scope="session")
def golden() -> Golden:
    """Values of golden/metrics_cases.json; its `source` says where they come from."""
    folder = Path(__file__).parents[2] / "golden"
    record = json.loads((folder / "metrics_cases.json").read_text())
    maps = np.load(folder / "metrics_cases.npz")
    cases = [
        GoldenCase(
            name,
            maps[f"{name}__pred"],
            maps[f"{name}__ref"],
            np.diag([*case["spacing_mm"], 1.0]),
            {label: _numbers(values) for label, values in case["classes"].items()},
            case.get("levels"),
        )
        for name, case in record["cases"].items()
    ]
    return Golden(cases, record["r_fraction"], record["vbar_mm3"])
