"""The worst exam of each group as a picture."""

from dataclasses import replace

import numpy as np
import pytest

from tworulers.report.findings import Findings, WorstExam
from tworulers.report.gallery import picture_worst
from tworulers.report.lay_out import lay_out
from tworulers.report.view import list_exams, make_view
from tworulers.report.withhold import withhold_small_groups
from tworulers.report.worst_figure import cut_slice, find_worst


def test_the_worst_exam_of_each_group_and_ruler_is_found(findings: Findings) -> None:
    view = make_view(findings)
    worst = find_worst(view)
    assert len(worst) == 2 * len(view.shown_groups)
    groups = findings.groups[view.grouping].astype(str)
    for one in worst:
        mine = list_exams(one.audit, view.score)
        mine = mine[groups.reindex(mine.index) == one.group]
        assert one.value == mine.min() == mine[one.exam_id]


def test_the_slice_is_the_one_where_both_differ_most() -> None:
    image = np.arange(4 * 40 * 30, dtype=float).reshape(4, 40, 30)
    prediction = np.zeros((4, 40, 30), int)
    prediction[:, 10:20, 12:18] = 1
    reference = prediction.copy()
    reference[2, 10:20, 12:22] = 1
    cut, predicted, drawn, aspect = cut_slice(image, prediction, reference, (4.0, 1.0, 2.0))
    assert drawn.sum() - predicted.sum() == 40
    assert cut.shape == predicted.shape == (30, cut.shape[1])
    assert image[2].min() <= cut.min() <= cut.max() <= image[2].max()
    assert aspect == 2.0
    agreed = cut_slice(None, prediction, reference, (4.0, 1.0, 2.0))[0]
    assert agreed.sum() == predicted.sum(), "without an image, where both agree"


@pytest.fixture
def with_exams(findings: Findings) -> Findings:
    part = np.zeros((20, 30), int)
    part[5:12, 8:20] = 1
    image = np.random.default_rng(0).normal(size=part.shape)
    drawn = np.roll(part, 2, axis=1)
    worst = [
        WorstExam(one.audit.key, one.group, one.exam_id, one.value, image, part, drawn, 1.5)
        for one in find_worst(make_view(findings))
    ]
    return replace(findings, worst=worst)


def test_a_page_shows_them_and_a_shared_one_does_not(with_exams: Findings) -> None:
    page = lay_out(with_exams)[1]
    (section,) = [one for one in page.sections if one.anchor == "worst"]
    assert section.pictures[0].caption.startswith("The exam of each group of")
    assert section.pictures[0].svg.count("data:image/png;base64,") == len(with_exams.worst)
    again = picture_worst(make_view(with_exams))
    assert again == section.pictures[0], "equal pictures are equal bytes"
    shared = withhold_small_groups(replace(with_exams, suppress_below=2))
    assert "worst" not in [one.anchor for one in lay_out(shared)[1].sections]
