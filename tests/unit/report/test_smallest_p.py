"""The smallest p that is said of a grouping is the smallest of its tests, and its score has it, under ties of
Benjamini-Hochberg too.
"""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.battery.overview import summarise_groupings
from tworulers.metrics.registry import METRICS
from tworulers.report.findings import ShownAudit
from tworulers.report.tables import write_p
from tworulers.report.words.groupings import verdict_sentences
from tworulers.report.words.verdicts import describe_finding
from tworulers.schema.settings import Audit
from tworulers.schema.sources import Attributes
from tworulers.stats.families import adjust_p

P = st.one_of(st.just(np.nan), st.integers(0, 100).map(lambda i: i / 100))
SCORES = [(m, s) for m in ("dice", "hd95", "ndsc") for s in ("vb", "disc", "macro")]


@st.composite
def families(draw: st.DrawFn) -> pd.DataFrame:
    """The tests of two groupings, adjusted together; some could not be computed."""
    rows = [
        {"grouping": grouping, "metric": metric, "structure": structure}
        for grouping in ("sex", "age")
        for metric, structure in draw(st.permutations(SCORES))
    ]
    p = np.array(draw(st.lists(P, min_size=len(rows), max_size=len(rows))))
    adjusted = adjust_p(p)
    return pd.DataFrame(rows).assign(
        p=p[::-1],
        p_verdict=p,
        p_verdict_fdr=adjusted,
        p_fdr=adjust_p(p[::-1]),
        significant=adjusted < 0.05,
        family="main",
        best_group="a",
        worst_group="b",
        verdict_by="exam",
        answer="cannot_say",
        verdict_undefined_because=np.where(np.isnan(p), "one group", None),
    )


@pytest.mark.slow
@settings(max_examples=200)
@given(families())
def test_the_smallest_p_is_the_smallest_and_the_score_named_has_it(tests: pd.DataFrame) -> None:
    groups = pd.DataFrame({name: pd.Categorical(["a", "b"] * 6) for name in ("sex", "age")})
    told = summarise_groupings(groups, tests, Audit(), Attributes("two")).set_index("grouping")
    for grouping, part in tests.groupby("grouping"):
        said = describe_finding(part, METRICS)
        row = told.loc[grouping]
        if part["p_verdict"].isna().all():
            assert said == "not tested: one group"
            assert pd.isna(row["smallest_p_fdr_metric"])
            continue
        least = part[part["p_verdict"] == part["p_verdict"].min()]
        shown, score = re.findall(r"smallest p (.+?), adjusted .+? \((\w+ \w+)\)", said)[0]
        assert shown == write_p(part["p_verdict"].min())
        titles = {"dice": "Dice", "hd95": "HD95", "ndsc": "nDSC"}
        assert score in {f"{one.structure} {titles[one.metric]}" for one in least.itertuples()}
        named = (row["smallest_p_fdr_metric"], row["smallest_p_fdr_structure"])
        assert named in set(zip(least["metric"], least["structure"], strict=True))
        assert row["smallest_p"] == part["p_verdict"].min()
        assert row["smallest_p_fdr"] == part["p_verdict_fdr"].min()


def test_a_sentence_names_the_score_with_the_smallest_p(audits: dict[str, ShownAudit]) -> None:
    result = audits["silver"].result
    tests = result.tests.copy()
    here = tests.index[tests["grouping"] == "age_3bin"]
    tests.loc[here, "p_verdict"] = [0.02, 0.004, 0.03]
    tests.loc[here, ["p_verdict_fdr", "significant"]] = [0.03, True]
    groupings = result.groupings.assign(significant=3)
    changed = replace(result, tests=tests, groupings=groupings)
    said = verdict_sentences(changed, "silver", "silver").set_index("grouping")["sentence"]
    second = tests.loc[here[1]]
    title = result.metrics[second["metric"]].title
    assert f"Clearest in {second['structure']} {title}" in said["age_3bin"]
    assert "p 0.004, adjusted 0.03" in said["age_3bin"]
