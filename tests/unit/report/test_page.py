"""The page: every section, self-contained, careful words, and whole with less than everything."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tworulers.battery.audit import AuditResult
from tworulers.diagnosis.comparison import Comparison
from tworulers.diagnosis.mechanism import Mechanism
from tworulers.diagnosis.verdicts import Verdict
from tworulers.metrics.registry import METRICS
from tworulers.report import gallery
from tworulers.report.findings import CohortTables, Findings, RulerChange, ShownAudit
from tworulers.report.lay_out import lay_out, write_report
from tworulers.report.page import render_page
from tworulers.report.render import Picture
from tworulers.report.view import make_view, view_audit
from tworulers.report.words.headline import write_headline
from tworulers.report.words.verdicts import (
    MEANINGS,
    TITLES,
    describe_change,
    describe_finding,
    pick_flip,
)


def render(findings: Findings) -> str:
    return render_page(lay_out(findings)[1])


def words(page: str) -> str:
    """The page as a reader sees it."""
    bare = re.sub(r"<(svg|style).*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", bare))


@pytest.fixture(scope="module")
def page(findings: Findings) -> str:
    """The whole page with its drawings; the other tests of this file leave the drawings empty."""
    return render(findings)


@pytest.fixture(autouse=True)
def undrawn(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made but not drawn, which takes most of the time of a page."""

    def leave_empty(figure: Figure, name: str, caption: str) -> Picture:
        return Picture(name, caption, "<svg></svg>", b"")

    monkeypatch.setattr(gallery, "take_picture", leave_empty)


class Balance(HTMLParser):
    """Checks that every element is closed and every id is used once."""

    VOID = frozenset({"meta", "br", "img", "link", "input", "hr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids += [given["id"]] if given.get("id") else []
        self.links += [str(given[name]) for name in ("href", "src") if given.get(name)]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()


def test_page_is_one_file_whose_links_lead_into_itself(page: str) -> None:
    checked = Balance()
    checked.feed(page)
    assert checked.open == []
    assert len(checked.ids) == len(set(checked.ids))
    inside = {link[1:] for link in checked.links if link.startswith("#")}
    others = [link for link in checked.links if not link.startswith("#")]
    assert all(link.startswith(("data:image/png;base64,", "data:text/csv;")) for link in others)
    assert inside <= set(checked.ids)
    assert "http" not in page.replace("http-equiv", "")
    assert "@import" not in page


def test_page_has_every_section_in_order(page: str) -> None:
    anchors = re.findall(r'<section id="([\w-]+)"', page)
    assert anchors == [
        *("glance", "two-rulers", "missed"),  # seen at once
        *("words", "methods", "answers", "tests", "inflation", "why", "adjusted"),
        *("rates", "sweep", "groups", "power", "model", "cohort", "audits"),
        *("reproduce", "terms"),
    ]
    opened, folded = page.split("Behind the verdict", 1)
    assert "<details" not in opened
    assert folded.count('class="fold') == 16
    assert page.count("<figure") == page.count("<figcaption>") == page.count("<svg")


def test_page_never_says_fair_nor_shows_a_bare_number_that_is_none(page: str) -> None:
    text = words(page)
    assert not re.search(r"\b(nan|None|inf|NaT)\b", text)
    assert not re.search(r"\bfair\b", text)
    assert "no difference found in 3 scores" in text
    assert re.search(r"in \d structures? and their mean \(macro\)\. Groups", text)
    assert "no difference found is not equality" in text


def test_every_caption_of_scores_names_a_provenance(page: str) -> None:
    for caption in re.findall(r"<figcaption>(.*?)</figcaption>", page):
        assert "provenance" in caption
    captions = re.findall(r"<caption>(.*?)</caption>", page)
    judged = [c for c in captions if re.match(r"(Tests|Success|What could|Joint|.*macro)", c)]
    assert len(judged) >= 10
    assert all("provenance" in caption for caption in judged)


def test_headline_says_what_changed_and_what_of_it_is_not_shown(findings: Findings) -> None:
    headline, _ = write_report(findings)
    verdicts = findings.changes[0].comparison.verdicts
    flips = verdicts["flip"].isin(["other_only", "base_only"]).sum()
    assert flips > 0
    assert f"{flips} conclusion" in headline.ruler
    assert "no mechanism is shown" in headline.ruler
    assert headline.patients.startswith("By the experts' labels (gold, 76 exams)")
    assert (verdicts["mechanism"] != "none").sum() == flips
    assert not verdicts["mechanism"].str.endswith("_shown").any()
    remarks = " ".join(headline.remarks)
    assert "but the change of the test is within chance" in remarks
    assert "not the patients" not in headline.sentence + remarks
    assert "forgives 74 %" in remarks
    assert "too close to the model it judges" in remarks
    assert [row.title for row in headline.rows] == ["Sex", "Age"]


def test_one_size_of_gap_that_is_missed_is_no_range(audits: dict[str, ShownAudit]) -> None:
    gold = audits["gold"]
    one = gold.result.power.query("grouping == 'sex'")
    alone = replace(gold, result=replace(gold.result, power=one))
    said = " ".join(write_headline(view_audit(alone)).remarks)
    assert re.search(r"gaps of macro Dice below [0-9.]+ points would probably", said)
    both = " ".join(write_headline(view_audit(gold)).remarks)
    assert re.search(r"below [0-9.]+ points to [0-9.]+ points, depending on the grouping,", both)


def test_without_a_flip_the_page_says_so(findings: Findings, comparison: Comparison) -> None:
    verdicts = comparison.verdicts.assign(flip="neither", verdict="neither_shown")
    change = RulerChange("mix", "gold", "silver", replace(comparison, verdicts=verdicts))
    headline, sections = write_report(replace(findings, changes=[change]))
    assert "No conclusion changed with the ruler." in " ".join(headline.remarks)
    assert {row.tone for row in headline.rows} == {"calm"}
    assert "why" in [section.anchor for section in sections]


def test_one_ruler_makes_a_page_without_a_word_on_rulers(findings: Findings) -> None:
    alone = {key: one for key, one in findings.audits.items() if key[1] == "gold"}
    bare = Findings("Exams", "Sex and age", alone, groups=findings.groups)
    page = render(bare)
    text = words(page)
    assert "There is one ruler only" in text
    assert "What changing the ruler did" not in text
    assert 'id="why"' not in page
    assert 'id="cohort"' not in page


def test_page_is_whole_without_scores_groups_power_or_thresholds(
    findings: Findings, audits: dict[str, ShownAudit]
) -> None:
    def strip(result: AuditResult) -> AuditResult:
        power, linear = result.power.head(0), result.linear.head(1)
        linear = linear.assign(undefined_because="not asked for")
        return replace(
            result,
            power=power,
            linear=linear,
            disparities=result.disparities.head(0),
            rates=result.rates.head(0),
        )

    bare = {("mix", r): ShownAudit(strip(one.result), one.title) for r, one in audits.items()}
    page = render(
        replace(findings, audits=bare, groups=pd.DataFrame(), cohort=CohortTables(), commands=())
    )
    anchors = re.findall(r'<section id="([\w-]+)"', page)
    assert "rates" not in anchors
    assert "two-rulers" not in anchors
    assert {"tests", "why", "groups", "audits"} <= set(anchors)


def test_an_undefined_test_is_told_with_its_reason(
    findings: Findings, audits: dict[str, ShownAudit], comparison: Comparison
) -> None:
    reason = "fewer than two groups with two exams"
    result = audits["gold"].result
    tests = result.tests.copy()
    here = tests["grouping"] == "sex"
    numbers = ["p", "p_fdr", "p_verdict", "p_verdict_fdr", "statistic", "effect"]
    tests.loc[here, [*numbers, "median_gap", "mean_gap"]] = np.nan
    tests.loc[here, ["undefined_because", "verdict_undefined_because"]] = reason
    verdicts = comparison.verdicts.copy()
    there = verdicts["grouping"] == "sex"
    verdicts.loc[there, ["verdict", "flip", "sentence"]] = ["undefined", "undefined", ""]
    verdicts.loc[there, "undefined_because"] = reason
    undefined = replace(audits["gold"], result=replace(result, tests=tests))
    page = render(
        replace(
            findings,
            audits={("mix", "gold"): undefined, ("mix", "silver"): audits["silver"]},
            changes=[RulerChange("mix", "gold", "silver", replace(comparison, verdicts=verdicts))],
        )
    )
    text = words(page)
    assert f"not tested: {reason}" in text
    assert "Not judged" in text
    assert not re.search(r"\bnan\b", text)


def test_small_groups_can_be_kept_out_of_the_page(findings: Findings) -> None:
    text = words(render(replace(findings, suppress_below=25)))
    assert "suppressed" in text


def test_names_from_data_cannot_break_the_page(
    findings: Findings, audits: dict[str, ShownAudit]
) -> None:
    hostile = "<script>alert(1)</script>"
    named = {
        ("mix", ruler): ShownAudit(one.result, hostile, one.scores) for ruler, one in audits.items()
    }
    page = render(replace(findings, audits=named, dataset=hostile, configuration=hostile))
    assert "<script" not in page


def test_the_page_is_about_the_comparison_that_can_be_trusted_most(
    findings: Findings, comparison: Comparison
) -> None:
    identical = replace(comparison, summary={**comparison.summary, "status": "identical"})
    changes = [
        RulerChange("gold", "gold", "silver", comparison),
        RulerChange("mix", "gold", "truth", comparison),
        RulerChange("mix", "gold", "silver", comparison),
    ]
    both = {
        (regime, r): one for regime in ("gold", "mix") for (_, r), one in findings.audits.items()
    }

    def chosen() -> str | None:
        change = make_view(replace(findings, audits=both, changes=changes)).change
        return change.regime if change else None

    assert chosen() == "mix"
    changes[2] = RulerChange("mix", "gold", "silver", identical)
    assert chosen() == "gold"
    changes.clear()
    assert chosen() is None


def test_the_grouping_shown_first_is_the_one_that_changed(
    findings: Findings, audits: dict[str, ShownAudit], comparison: Comparison
) -> None:
    assert view_audit(audits["gold"]).grouping == "sex"

    def first(verdicts: pd.DataFrame) -> str:
        change = RulerChange("mix", "gold", "silver", replace(comparison, verdicts=verdicts))
        return make_view(replace(findings, changes=[change])).grouping

    verdicts = comparison.verdicts.assign(flip="neither")
    assert first(verdicts) == "sex"
    age = verdicts["grouping"] == "age_3bin"
    verdicts.loc[age, ["flip", "verdict"]] = ["other_only", "unattributed"]
    assert first(verdicts) == "age_3bin"
    result = audits["gold"].result
    sizes = result.groupings.assign(grouping=["size", "random_2"])
    turned = replace(audits["gold"], result=replace(result, groupings=sizes))
    assert view_audit(turned).grouping == "size"


def test_every_verdict_has_words() -> None:
    assert (
        set(TITLES)
        == set(MEANINGS)
        == {str(name) for kind in (Verdict, Mechanism) for name in kind} - {"none"}
    )


def test_a_flip_is_the_preferred_score_or_the_clearest() -> None:
    verdicts = pd.DataFrame(
        {
            "metric": ["dice", "ndsc"],
            "structure": ["macro", "vb"],
            "flip": "other_only",
            "verdict": "mixed",
            "p_verdict_fdr_base": [0.3, 0.2],
            "p_verdict_fdr_other": [0.04, 0.01],
            "undefined_because": None,
        }
    )
    clearest, preferred = pick_flip(verdicts), pick_flip(verdicts, ("dice", "macro"))
    assert clearest is not None
    assert preferred is not None
    assert clearest["metric"] == "ndsc"
    assert preferred["metric"] == "dice"
    assert pick_flip(verdicts.assign(flip="both")) is None
    title, why, tone = describe_change(verdicts)
    assert title == "Mixed in 2 scores"
    assert "further apart" in why
    assert tone == "loud"
    assert describe_change(verdicts.assign(verdict="made_by_correction"))[::2] == (
        "Made by the correction in 2 scores",
        "mute",
    )


def test_a_finding_is_told_with_raw_and_adjusted_p(audits: dict[str, ShownAudit]) -> None:
    tests = audits["silver"].result.tests
    told = describe_finding(tests[tests["grouping"] == "age_3bin"], METRICS)
    assert told.startswith("difference in")
    assert "worst for" in told
    assert re.search(r"smallest p [<\d. ]+, adjusted 0\.0", told)


def test_random_groups_are_told_apart_and_never_lead(
    findings: Findings, audits: dict[str, ShownAudit], comparison: Comparison
) -> None:
    def randomise(table: pd.DataFrame) -> pd.DataFrame:
        family = table["family"].mask(table["grouping"] == "age_3bin", "random")
        return table.assign(family=family)

    shown = {}
    for ruler, one in audits.items():
        families = pd.concat([one.result.families] * 2).assign(family=["main", "random"], size=3)
        tests, groupings = randomise(one.result.tests), randomise(one.result.groupings)
        result = replace(one.result, tests=tests, groupings=groupings, families=families)
        shown["mix", ruler] = replace(one, result=result)
    change = replace(comparison, verdicts=randomise(comparison.verdicts))
    changes = [RulerChange("mix", "gold", "silver", change)]
    headline, _ = write_report(replace(findings, audits=shown, changes=changes))
    remarks = " ".join(headline.remarks)
    assert "none of 3 tests finds a difference; judged by silver, none of 3" in remarks
    assert "No conclusion changed" in remarks
    assert "by Sex" in headline.patients
    assert "Age" not in headline.patients
    assert any(remark.startswith("In random groups, which mean") for remark in headline.remarks)
    flipped = change.verdicts.assign(flip="other_only", verdict="unattributed")
    changes = [RulerChange("mix", "gold", "silver", replace(change, verdicts=flipped))]
    assert make_view(replace(findings, audits=shown, changes=changes)).grouping == "sex"
