"""Which part of the study each exam belongs to, by one patient-level split for every regime."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from tworulers.cohort.grouping import assign_groups
from tworulers.cohort.spelling import is_unreported
from tworulers.schema.settings import Provenance, Regime, Split, SplitSettings

_OTHER_STRATUM = "other"
_ONE_STRATUM = "all"
_SHARED = "shared"


class SplitError(ValueError):
    """A split cannot be made; the message says why, with the numbers, and what to change."""


def split_cohort(
    cohort: pd.DataFrame, settings: SplitSettings, regimes: Sequence[Regime]
) -> pd.DataFrame:
    """Split a cohort once by patient and make every regime's sets from it.

    The regime of all provenances has the split's exams, balanced; any other regime has the exams of
    its provenances in those sets, balanced again, so that no patient is ever on both sides of a
    comparison. The training and validation exams of a regime together are dealt into folds.
    Everything depends on the seed and on names alone, not on order.

    Parameters
    ----------
    cohort : one row an exam (`tables.Cohort`).
    settings : shares of patients, strata, the balanced column, folds and the seed.
    regimes : the regimes to make sets for.

    Returns
    -------
    `tables.Splits`: one row a regime and exam, dropped exams included, with ``reason`` saying why
    one was dropped.

    Raises
    ------
    SplitError : no expert labels where a regime needs them, too few patients for the folds, or an
        empty set."""
    check_provenance(cohort, regimes)
    check_folds(cohort, settings.folds)
    return make_regimes(split_patients(cohort, settings), cohort, settings, regimes)


def split_patients(cohort: pd.DataFrame, settings: SplitSettings) -> pd.DataFrame:
    """Deal the patients of each stratum into test, validation and training; all exams of a patient
    go along.

    In each stratum the first ``round(test * n)`` shuffled patients are test and the next
    ``round(val * n)`` validation, at least one of each where the share is above zero. A patient
    whom any stratifying grouping leaves out joins one common stratum; the stratum of a patient is
    that of the first exam by name.

    Returns
    -------
    ``exam_id``, ``patient_id``, ``provenance``, ``stratum``, ``split``, sorted by ``exam_id``.
    """
    if settings.test < 0 or settings.val < 0 or settings.test + settings.val >= 1:
        raise SplitError(
            f"split.test and split.val must be shares that leave some, found {settings.test} "
            f"and {settings.val}"
        )
    exams = cohort[["exam_id", "patient_id", "provenance"]].sort_values(
        "exam_id", ignore_index=True
    )
    exams["stratum"] = exams["exam_id"].map(_name_strata(cohort, settings))
    exams["stratum"] = exams.groupby("patient_id")["stratum"].transform("first")
    parts: dict[str, str] = {}
    for stratum, members in sorted(exams.groupby("stratum")):
        patients = _shuffle(members["patient_id"].unique(), settings.seed, "patients", str(stratum))
        n_test = _share_of(len(patients), settings.test)
        n_val = min(_share_of(len(patients), settings.val), len(patients) - n_test)
        parts |= dict.fromkeys(patients[:n_test], Split.TEST.value)
        parts |= dict.fromkeys(patients[n_test : n_test + n_val], Split.VAL.value)
        parts |= dict.fromkeys(patients[n_test + n_val :], Split.TRAIN.value)
    exams["split"] = exams["patient_id"].map(parts)
    return exams


def hide_expert_labels(
    cohort: pd.DataFrame, settings: SplitSettings, share: float, seed: int
) -> pd.DataFrame:
    """Turn the expert labels of some development patients into labels yet to be made by a machine.

    Where every exam has an expert label, this makes the two pools that the study needs: test
    patients and a random ``share`` of the others stay gold; the exams of the rest become silver
    without a label.

    Parameters
    ----------
    cohort : one row an exam, all gold.
    settings : the split that decides who is a test patient.
    share : share of the development patients who stay gold, in (0, 1].
    seed : seed of the draw.
    """
    if not 0 < share <= 1:
        raise SplitError(f"dataset.gold_share must be above 0 and at most 1, found {share}")
    split = split_patients(cohort, settings)
    development = split.loc[split["split"] != Split.TEST, "patient_id"].unique()
    shuffled = _shuffle(development, seed, "gold share")
    hidden = cohort["patient_id"].isin(shuffled[max(1, round(share * len(shuffled))) :])
    return cohort.assign(
        provenance=cohort["provenance"].mask(hidden, Provenance.SILVER.value),
        label=cohort["label"].mask(hidden, None),
    )


def check_provenance(cohort: pd.DataFrame, regimes: Sequence[Regime]) -> None:
    """Refuse a regime that needs expert labels where no exam has one."""
    if (cohort["provenance"] == Provenance.GOLD).any():
        return
    needing = [regime.name for regime in regimes if Provenance.GOLD in regime.provenances]
    if needing:
        raise SplitError(
            f"no exam of the cohort has an expert (gold) label, found 0 of {len(cohort)}; regimes "
            f"{', '.join(needing)} need them: say which labels are "
            "the experts', or choose the silver regime"
        )


def check_folds(exams: pd.DataFrame, folds: int, where: str = "") -> None:
    """Refuse more folds than there are patients."""
    patients = exams["patient_id"].nunique()
    if patients < folds:
        raise SplitError(
            f"{where}{patients} patients ({len(exams)} cases) cannot make {folds} folds; "
            f"at most {patients}: "
            f"set split.folds={max(patients, 1)} or fewer"
        )


def make_regimes(
    exams: pd.DataFrame,
    cohort: pd.DataFrame,
    settings: SplitSettings,
    regimes: Sequence[Regime],
    given_folds: dict[str, int] | None = None,
) -> pd.DataFrame:
    """Make the sets of every regime from one split: balance, take the regime's provenances, balance
    again, fold.

    Parameters
    ----------
    exams : the result of `split_patients`, or a split made elsewhere in its columns.
    cohort : one row an exam, with the balanced column.
    settings : the balanced column, the number of folds and the seed.
    regimes : the regimes.
    given_folds : the fold of each development exam where a split made elsewhere has folds.
    """
    reasons = _balance(exams, cohort, settings, _SHARED)
    frames = []
    for regime in regimes:
        rows = exams.assign(reason=reasons)
        provenances = [str(provenance) for provenance in regime.provenances]
        if not set(exams["provenance"]) <= set(provenances):
            rows = rows[rows["reason"].isna() & rows["provenance"].isin(provenances)]
            rows = rows.assign(reason=_balance(rows, cohort, settings, regime.name))
        _check_sets(rows, regime, exams)
        pool = rows[rows["reason"].isna() & (rows["split"] != Split.TEST)]
        if given_folds is None:
            check_folds(pool, settings.folds, f"regime {regime.name}: in the development part, ")
            folds = _deal_folds(pool, settings, regime.name)
        else:
            folds = pool["exam_id"].map(given_folds)
        rows = rows.assign(
            regime=regime.name,
            split=rows["split"].mask(rows["reason"].notna(), Split.DROPPED.value),
            fold=folds.reindex(rows.index).astype("Int64"),
        )
        frames.append(rows)
    columns = [
        "regime",
        "exam_id",
        "patient_id",
        "provenance",
        "stratum",
        "split",
        "fold",
        "reason",
    ]
    return pd.concat(frames, ignore_index=True)[columns]


def _name_strata(cohort: pd.DataFrame, settings: SplitSettings) -> pd.Series:
    """Name the stratum of each exam: its groups in the stratifying groupings."""
    index = pd.Index(cohort["exam_id"])
    if not settings.strata:
        return pd.Series(_ONE_STRATUM, index=index)
    unknown = [name for name in settings.strata if name not in settings.groupings]
    if unknown:
        raise SplitError(
            f"split.strata names {unknown}, but split.groupings has {sorted(settings.groupings)}"
        )
    names = pd.Series("", index=index)
    left_out = pd.Series(False, index=index)
    for name in settings.strata:
        groups = assign_groups(cohort, settings.groupings[name], settings.groupings)
        left_out |= groups.isna()
        names = names.str.cat(groups.astype(object).fillna("").astype(str), sep=" / ")
    return names.str.removeprefix(" / ").mask(left_out, _OTHER_STRATUM)


def _balance(
    exams: pd.DataFrame, cohort: pd.DataFrame, settings: SplitSettings, name: str
) -> pd.Series:
    """Say which exams are dropped so that a column's reported levels are equal in each set."""
    reasons = pd.Series(None, index=exams.index, dtype=object)
    if settings.balance is None:
        return reasons
    if settings.balance not in cohort.columns:
        raise SplitError(
            f"split.balance names column {settings.balance!r}, which the cohort does not have"
        )
    levels = exams["exam_id"].map(cohort.set_index("exam_id")[settings.balance])
    levels = levels.mask(is_unreported(levels))
    for part, members in exams.groupby("split"):
        counts = levels[members.index].value_counts()
        for level, count in sorted(counts.items()):
            of_level = members[levels[members.index] == level].set_index("exam_id")
            surplus = count - counts.min()
            dropped = _shuffle(
                of_level.index, settings.seed, "balance", name, str(part), str(level)
            )[:surplus]
            chosen = members.index[members["exam_id"].isin(dropped)]
            reasons[chosen] = (
                f"{settings.balance} balanced in {part}: {surplus} of {count} exams of {level} "
                "dropped at random"
            )
    return reasons


def _check_sets(rows: pd.DataFrame, regime: Regime, exams: pd.DataFrame) -> None:
    """Refuse a regime that has no exam in a set which the split has."""
    kept = rows[rows["reason"].isna()]["split"].value_counts()
    parts = [part.value for part in (Split.TRAIN, Split.VAL, Split.TEST)]
    empty = [p for p in parts if (exams["split"] == p).any() and not kept.get(p, 0)]
    if empty:
        found = {str(part): int(count) for part, count in sorted(kept.items())}
        raise SplitError(
            f"regime {regime.name} ({', '.join(map(str, regime.provenances))}) has no exam in "
            f"{', '.join(empty)}, "
            f"found {found}; give it more patients, another split.seed, or larger shares"
        )


def _deal_folds(pool: pd.DataFrame, settings: SplitSettings, regime: str) -> pd.Series:
    """Deal shuffled patients to the folds in turn, each stratum going on where the last ended."""
    dealt: list[str] = []
    for stratum, members in sorted(pool.groupby("stratum")):
        patients = members["patient_id"].sort_values().unique()
        dealt += _shuffle(patients, settings.seed, "folds", regime, str(stratum))
    folds = {patient: place % settings.folds for place, patient in enumerate(dealt)}
    return pool["patient_id"].map(folds)


def _share_of(count: int, share: float) -> int:
    """Return the rounded share of a count, at least one where the share is above zero."""
    return min(count, max(1, round(share * count))) if share > 0 else 0


def _shuffle(names: Iterable[str], seed: int, *stream: str) -> list[str]:
    """Return names in an order that depends on the seed, the stream and the set of names alone."""
    words = np.frombuffer(
        hashlib.blake2b("\0".join(stream).encode(), digest_size=16).digest(), dtype=np.uint32
    )
    ordered = sorted(map(str, names))
    order = np.random.default_rng([seed, *words.tolist()]).permutation(len(ordered))
    return [ordered[place] for place in order]
