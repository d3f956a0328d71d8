"""How often gold-anchored intervals hold the true mean, and how much narrower than gold alone."""

import numpy as np
import pandas as pd

from tworulers.stats.anchored import anchor_mean

SHAPES = {"normal": 0.0, "skewed (log-normal .3)": 0.3, "skewed (log-normal .6)": 0.6,
          "heavy (log-normal .9)": 0.9}  # fmt: skip


def calibrate_anchored(studies: int, more: int, rng: np.random.Generator) -> pd.DataFrame:
    """Cover the true mean gold score over shapes, correlations and numbers of gold exams.

    Parameters
    ----------
    studies : studies of each cell.
    more : exams with a silver score alone.
    rng : source of chance.
    """
    rows = []
    for shape, sigma in SHAPES.items():
        for rho in (0.35, 0.6, 0.9):
            truth, correlation = _know(sigma, rho)
            for n in (15, 30, 60):
                inside, inside_gold, width, width_gold, size = [], [], [], [], []
                for _ in range(studies):
                    gold, silver = _draw(sigma, rho, n + more, rng)
                    found = anchor_mean(gold[:n], silver[:n], silver[n:])
                    inside.append(found.low <= truth <= found.high)
                    inside_gold.append(found.gold_low <= truth <= found.gold_high)
                    width.append(found.high - found.low)
                    width_gold.append(found.gold_high - found.gold_low)
                    size.append(found.effective_n)
                rows.append(
                    {
                        "shape": shape,
                        "correlation": correlation,
                        "gold exams": n,
                        "silver exams": more,
                        "coverage": float(np.mean(inside)),
                        "coverage of gold alone": float(np.mean(inside_gold)),
                        "width / gold alone": float(np.mean(width) / np.mean(width_gold)),
                        "effective n": float(np.median(size)),
                    }
                )
    return pd.DataFrame(rows)


def _draw(
    sigma: float, rho: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    common, own = rng.normal(size=(2, n))
    mixed = rho * common + np.sqrt(1 - rho**2) * own
    if sigma == 0:
        return 0.9 + 0.05 * common, 0.97 + 0.012 * mixed
    return 1 - 0.09 * np.exp(sigma * common), 1 - 0.025 * np.exp(sigma * mixed)


def _know(sigma: float, rho: float) -> tuple[float, float]:
    """Return the true mean and the correlation of the scores, by the moments of the log-normal."""
    if sigma == 0:
        return 0.9, rho
    square = sigma**2
    return 1 - 0.09 * float(np.exp(square / 2)), float(np.expm1(rho * square) / np.expm1(square))
