"""A pipeline of a dozen small exams with everything behind the training: scores, audits, a comparison, and the rest."""

import pandas as pd
from small_line import BASE, NETWORK, command

SMALL = ("audit.bootstrap_draws=20", "audit.permutations=20", "audit.power_draws=0")
ASKED = ("attributes=sex", *SMALL)
RISK = (
    *("risk=table", "risk.name=made", "risk.file=made.csv", "risk.score=risk", "risk.outcome=died"),
    *("risk.event=yes", "risk.unit=stay", "+risk.groups.sex=gender", "use.bootstrap_draws=20"),
)
JUDGE = (
    *("predictions.name=theirs", f"predictions.folder={BASE}/predictions/gold/labels"),
    f"+predictions.references={{expert: {{folder: {BASE}/source/labels, provenance: gold}}}}",
    *("+predictions.structures={vb: 1, disc: 2}", "predictions.cohort=exams.csv"),
    *("predictions.incomplete=true", *ASKED),
)
BEFORE: tuple[tuple[str, ...], ...] = (
    ("predict", "regime=gold", *NETWORK),
    ("score", "regime=gold", "ruler=gold"),
    ("score", "regime=gold", "ruler=truth"),
    ("audit", "regime=gold", "ruler=gold", *ASKED),
)
READERS: dict[str, tuple[str, ...]] = {
    "audit": ("audit", "regime=gold", "ruler=truth", *ASKED),
    "compare": ("compare", *ASKED),
    "report": ("report", "attributes=sex"),
    "show": ("show", "attributes=sex"),
    "risk": ("risk", *RISK),
    "judge": ("judge", *JUDGE),
}
"""The commands that read what an earlier one left."""


def finish_line() -> None:
    """Make all results behind the training in the working folder."""
    people = pd.read_parquet(BASE / "cohort" / "cohort.parquet")
    people[["exam_id", "patient_id", "sex"]].to_csv("exams.csv", index=False)
    stays = {
        "stay": range(80), "gender": ["F", "M"] * 40, "died": ["yes", "no", "no", "yes"] * 20,
        "risk": [(7 * n % 80) / 80 for n in range(80)],
    }  # fmt: skip
    pd.DataFrame(stays).to_csv("made.csv", index=False)
    for stage, *overrides in (*BEFORE, *READERS.values()):
        assert command(stage, *overrides) == 0
