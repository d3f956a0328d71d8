"""The table of how far two rulers agree, as a person reads it."""

import pandas as pd

from tworulers.diagnosis.agreement import LABEL_VOLUME, tabulate_agreement
from tworulers.report.agreement_table import tabulate_agreement as write_agreement
from tworulers.report.findings import ShownAudit


def test_every_score_has_a_line_with_its_unit(audits: dict[str, ShownAudit]) -> None:
    base, other = audits.values()
    asked = base.result.tests[["structure", "metric"]].drop_duplicates()
    volume = base.scores.query("metric == 'dice'").assign(metric=LABEL_VOLUME, value=2e4)
    volume["value"] += 10 * pd.factorize(volume["exam_id"])[0]
    sides = [pd.concat([one.scores, volume]) for one in (base, other)]
    table = tabulate_agreement(*sides, asked, base.result.metrics, patients=None, level=0.95)
    shown = write_agreement(table, base, other)
    assert len(shown.rows) == len(asked) + volume["structure"].nunique()
    assert shown.rows[0][0] == base.metric(asked["metric"].iloc[0]).label(
        asked["structure"].iloc[0]
    )
    first = table.iloc[0]
    assert f"{first.icc:.3f} [{first.icc_low:.3f}, {first.icc_high:.3f}]" in shown.rows[0]
    assert shown.rows[-1][0].startswith("volume of ")
    assert shown.rows[-1][2] == "1.000 [1.000, 1.000]"
    assert base.name in shown.note
