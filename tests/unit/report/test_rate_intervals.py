"""What the recommended interval of a ratio of success rates is called."""

from tworulers.report.rate_intervals import explain_recommended, name_recommended


def test_it_is_called_what_it_is() -> None:
    assert name_recommended(False) == "exact percentile interval (recommended)"
    assert name_recommended(True) == "percentile interval (recommended)"
    assert "patients are drawn with all their exams" in explain_recommended(True)
