"""The table of how far two rulers agree exam by exam."""

import pandas as pd

from tworulers.diagnosis.agreement import LABEL_VOLUME
from tworulers.report.findings import ShownAudit
from tworulers.report.rows import iterate_rows
from tworulers.report.tables import Table, make_table, with_digits, write_estimate, write_undefined

NOTE = (
    "ICC(2,1): the share of the variance that lies between exams, in absolute agreement; Lin's concordance: the "
    "correlation about the line of equal values; both are 1 where the rulers agree in every exam. The limits hold 95 % "
    "of the exam's differences, second less first, if these are normal (Bland and Altman); each has its own interval."
)


def tabulate_agreement(agreement: pd.DataFrame, base: ShownAudit, other: ShownAudit) -> Table:
    """Tabulate correlation, concordance, mean difference and limits of agreement of every score and label volume."""
    rows, by_patient = [], False
    three = with_digits(3)
    for row in iterate_rows(agreement):
        because = row.undefined_because
        by_patient |= row.n_patients < row.n
        if row.metric == LABEL_VOLUME:
            name, write = f"volume of {row.structure}, mm³", with_digits(0)
        else:
            metric = base.metric(row.metric)
            name, write = metric.label(row.structure), metric.write_difference
        rows.append(
            [
                name,
                f"{row.n}",
                write_estimate((row.icc, row.icc_low, row.icc_high), three, because),
                write_estimate((row.ccc, row.ccc_low, row.ccc_high), three, because),
                *(
                    write_estimate(bounds, write) if bounds[0] == bounds[0] else write_undefined()
                    for bounds in (
                        (row.bias, row.bias_low, row.bias_high),
                        (row.lower_limit, row.lower_limit_low, row.lower_limit_high),
                        (row.upper_limit, row.upper_limit_low, row.upper_limit_high),
                    )
                ),
            ]
        )
    columns = ["score", "n", "ICC(2,1)", "Lin's concordance"]
    columns += ["mean difference", "lower limit", "upper limit"]
    note = f"First: {base.name}. Second: {other.name}. {NOTE}"
    if by_patient:
        note += " The exams of a patient are taken together in every interval."
    return make_table("How far the two rulers agree, exam by exam", columns, rows, note)
