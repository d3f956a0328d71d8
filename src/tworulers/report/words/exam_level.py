"""Which figures count every exam on its own though patients have several."""

from tworulers.schema.exam_level import EXAM_LEVEL


def tell_exam_level() -> str:
    """Say which columns of the tables are of exams, where verdicts and shown intervals are of patients."""
    columns = "; ".join(f"{table}: {', '.join(names)}" for table, names in EXAM_LEVEL.items())
    return (
        "Patients have several exams: verdicts, p and intervals keep a patient's exams together. What "
        f"counts every exam on its own, as published, is in these columns of the tables. {columns}."
    )
