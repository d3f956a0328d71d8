"""The committed calibration was measured on the code as it is, in full, and every row holds its bound."""

import json

from calibration.campaign import PAGE, RECORD, is_current
from calibration.page import count_broken, write_page
from calibration.topics import list_topics


def test_the_page_is_of_the_code_as_it_is() -> None:
    """Otherwise: ./scripts/campaign calibration, which measures what is stale and keeps the rest."""
    record, topics = json.loads(RECORD.read_text()), list_topics()
    assert [name for name in topics if not is_current(name, record)] == []
    assert PAGE.read_text() == write_page(topics, record)


def test_every_topic_was_measured_in_full_and_no_row_is_beyond_its_bound() -> None:
    record = json.loads(RECORD.read_text())
    for name, topic in list_topics().items():
        assert record[name]["studies"] == topic.studies, name
        assert count_broken(record[name]) == 0, name
