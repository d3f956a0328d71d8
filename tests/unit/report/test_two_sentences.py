"""The two sentences, case by case, to the letter: what the best labels say of the patients, and what the "
"ruler did."""

from collections.abc import Mapping
from dataclasses import replace

import pandas as pd
import pytest

from tworulers.battery.within import CANNOT_SAY, DIFFERS, DIFFERS_WITHIN, WITHIN
from tworulers.diagnosis.comparison import Comparison
from tworulers.report.findings import ShownAudit
from tworulers.report.words.read_facts import read_changed, read_told, tell_best, tell_change
from tworulers.report.words.two_sentences import (
    Changed,
    Grouped,
    Told,
    say_patients,
    say_ruler,
)

SEX = Grouped("Sex", {CANNOT_SAY: 9}, needed=412)
AGE = Grouped("Age", {CANNOT_SAY: 9}, needed=1300)
OLD = Grouped(
    "Age",
    {DIFFERS: 3, CANNOT_SAY: 6},
    ", worst for 60+, clearest in macro Dice, medians 3.20 points apart",
)
OLD_WITHIN = Grouped(
    "Age",
    {DIFFERS_WITHIN: 1, WITHIN: 8},
    ", worst for 60+, clearest in disc Dice, medians 0.60 points apart",
)
SAME = Grouped("Sex", {WITHIN: 9})
MOSTLY = Grouped("Sex", {WITHIN: 7, CANNOT_SAY: 2})
UNKNOWN: Mapping[str, object] = {"basis": "unknown", "second_expert_exams": 30, "testimony": None}
SHARED = {**UNKNOWN, "basis": "shares_training"}
EXPERTS = {**UNKNOWN, "basis": "declared_experts"}
TRUE = {**UNKNOWN, "basis": "declared_truth"}
COPIED = {**UNKNOWN, "basis": "demonstrated_copy", "testimony": {"witness": "second"}}


def gold(*groupings: Grouped, asked: bool = True, **more: object) -> Told:
    return Told("gold", "gold", 76, asked, "macro Dice", groupings, **more)  # type: ignore[arg-type]


def by(provenance: str, *groupings: Grouped, asked: bool = True) -> Told:
    return Told(provenance, provenance, 76, asked, "macro Dice", groupings)


def silver(flips: Mapping[str, int], status: str = "distinct", **more: object) -> Changed:
    asked = {"changed": 0, "known": UNKNOWN, **more}
    return Changed("gold", "silver", status, 63, flips=flips, **asked)  # type: ignore[arg-type]


PATIENTS = {
    "gold finds nothing, margin": (
        (gold(SEX, AGE), None),
        "By the experts' labels (gold, 76 exams) it cannot be said whether groups differ by Sex and Age "
        "(about 412 to 1,300 exams would "
        "settle macro Dice).",
    ),
    "gold finds nothing, no margin": (
        (gold(SEX, asked=False), None),
        "By the experts' labels (gold, 76 exams) it cannot be said whether groups differ by Sex (about 412 "
        "exams would settle macro Dice); "
        "within a margin was not asked.",
    ),
    "gold finds a difference": (
        (gold(SEX, OLD), None),
        "By the experts' labels (gold, 76 exams) groups differ by Age (3 of 9 scores, worst for 60+, clearest in "
        "macro Dice, medians 3.20 points apart); it cannot be said whether groups differ by Sex (about 412 "
        "exams would settle macro Dice).",
    ),
    "within the margin in all": (
        (gold(SAME), None),
        "By the experts' labels (gold, 76 exams) groups are within the margin by Sex.",
    ),
    "within in most": (
        (gold(MOSTLY), None),
        "By the experts' labels (gold, 76 exams) it cannot be said whether groups differ by Sex (within the "
        "margin in 7 of 9 scores).",
    ),
    "differs, but within": (
        (gold(SAME, OLD_WITHIN), None),
        "By the experts' labels (gold, 76 exams) groups differ, but within the margin, by Age (1 of 9 scores, worst "
        "for 60+, clearest in disc Dice, medians 0.60 points apart); groups are within the margin by Sex.",
    ),
    "truth at hand, experts cannot tell": (
        (by("truth", SAME, OLD), gold(SEX, AGE)),
        "By the noise-free truth (truth, 76 exams) groups differ by Age (3 of 9 scores, worst for 60+, clearest in "
        "macro Dice, medians 3.20 points apart); groups are within the margin by Sex; the experts' labels (gold) "
        "cannot tell it by Age.",
    ),
    "truth at hand, experts see it": (
        (by("truth", OLD), gold(OLD)),
        "By the noise-free truth (truth, 76 exams) groups differ by Age (3 of 9 scores, worst for 60+, clearest in "
        "macro Dice, medians 3.20 points apart); the experts' labels (gold) show it by Age.",
    ),
    "truth at hand, experts see more": (
        (by("truth", AGE, asked=False), gold(OLD)),
        "By the noise-free truth (truth, 76 exams) it cannot be said whether groups differ by Age (about "
        "1,300 exams would settle macro "
        "Dice); the experts' labels (gold) show a difference by Age that the truth does not show; within a "
        "margin was "
        "not asked.",
    ),
    "mixed provenance": (
        (by("mixed", SEX, OLD), None),
        "By labels of experts and of a machine (mixed, 76 exams) groups differ by Age (3 of 9 scores, worst for 60+, "
        "clearest in macro Dice, medians 3.20 points apart); it cannot be said whether groups differ by Sex "
        "(about 412 exams would settle "
        "macro Dice); exams that a machine judged show no equality.",
    ),
    "a machine's labels alone": (
        (by("silver", OLD), None),
        "Of the patients nothing can be said without an expert's labels; by a machine's (silver, 76 exams) groups "
        "differ by Age (3 of 9 scores, worst for 60+, clearest in macro Dice, medians 3.20 points apart).",
    ),
    "distorted labels alone": (
        (by("biased", SAME), None),
        "Of the patients nothing can be said by labels distorted on purpose; by these (biased, 76 exams) groups are "
        "within the margin by Sex.",
    ),
    "primary questions": (
        (gold(SEX, primary=1, locked="2026-02-03", secondary=60, secondary_found=5), None),
        "On the primary question locked on 2026-02-03, by the experts' labels (gold, 76 exams) it cannot be "
        "said whether groups differ by "
        "Sex (about 412 exams would settle macro Dice); 5 of 60 secondary tests differ.",
    ),
    "nobody is grouped": ((gold(), None), ""),
}

RULER = {
    "one ruler": (None, ""),
    "nothing changed": (
        silver({}),
        "0 of 63 tests changed beyond chance with the silver ruler in place of gold, and no conclusion "
        "crossed the "
        "level.",
    ),
    "flips, nothing shown": (
        silver({"made_by_correction": 7, "consistent_with_noise_part": 4}),
        "0 of 63 tests changed beyond chance with the silver ruler in place of gold; 11 conclusions crossed the "
        "level (made by the correction in 7, consistent with a change of noise, not shown in 4); no mechanism is "
        "shown.",
    ),
    "shown, origin unknown": (
        silver({"noise_part_shown": 3}, changed=5, shown=3),
        "5 of 63 tests changed beyond chance with the silver ruler in place of gold; 3 conclusions crossed the level "
        "(noise part shown in 3); cause unknown: copied or sharper cannot be told from these labels; a second expert "
        "on 30 exams would settle it.",
    ),
    "shown, and known to be related": (
        silver({"false_confidence": 3}, changed=5, shown=3, known=SHARED),
        "5 of 63 tests changed beyond chance with the silver ruler in place of gold; 3 conclusions crossed the level "
        "(false confidence in 3); the silver ruler shares training data with the model.",
    ),
    "shown, declared experts": (
        silver({"gap_part_shown": 1}, changed=1, shown=1, known=EXPERTS),
        "1 of 63 tests changed beyond chance with the silver ruler in place of gold; 1 conclusion crossed the level "
        "(gap part shown in 1); the labels of the silver ruler are declared to be experts', which may be "
        "sharper: nothing false is "
        "shown.",
    ),
    "too close": (
        silver({"made_by_correction": 11}, "too_close", forgiven=0.743),
        "0 of 63 tests changed beyond chance with the silver ruler in place of gold; 11 conclusions crossed the "
        "level (made by the correction in 11); it is too close to the model, forgiving 74 % of its error, so no "
        "verdict may rest on it; no mechanism is shown; cause unknown: copied or sharper cannot be told from these "
        "labels; a second expert on 30 exams would settle it.",
    ),
    "too close, and a copy": (
        silver({}, "too_close", known=COPIED),
        "0 of 63 tests changed beyond chance with the silver ruler in place of gold, and no conclusion "
        "crossed the "
        "level; it is too close to the model, so no verdict may rest on it.",
    ),
    "too close, nothing tested": (
        replace(silver({}, "too_close", known=COPIED), tests=0),
        "No test was made with the silver ruler in place of gold; it is too close to the model, so no verdict may "
        "rest on it.",
    ),
    "identical": (
        silver({}, "identical"),
        "The silver ruler equals the predictions it judges: it is no ruler, and its agreement confirms nothing.",
    ),
}


@pytest.mark.parametrize("case", PATIENTS)
def test_the_sentence_on_the_patients(case: str) -> None:
    facts, expected = PATIENTS[case]
    assert say_patients(*facts) == expected
    assert "fair" not in expected.lower()


@pytest.mark.parametrize("case", RULER)
def test_the_sentence_on_the_ruler(case: str) -> None:
    facts, expected = RULER[case]
    assert say_ruler(facts) == expected


def test_usual_sentences_are_short() -> None:
    said = [say_patients(*facts) for facts, _ in PATIENTS.values()]
    said += [say_ruler(facts) for facts, _ in RULER.values()]
    assert max(len(sentence.split()) for sentence in said) <= 76
    assert sum(len(sentence.split()) > 60 for sentence in said) <= 2


def test_facts_are_read_from_an_audit(audits: dict[str, ShownAudit]) -> None:
    told = read_told(audits["gold"].result)
    assert (told.ruler, told.exams, told.margin_asked) == ("gold", 76, False)
    assert [one.title for one in told.groupings] == ["Sex", "Age"]
    assert [sum(one.answers.values()) for one in told.groupings] == [3, 3]
    assert told.score == "macro Dice"


def test_the_best_labels_speak_first(audits: dict[str, ShownAudit]) -> None:
    said = tell_best([audits["silver"].result, audits["gold"].result])
    assert said.startswith("By the experts' labels (gold, 76 exams)")
    assert tell_best([audits["silver"].result]).startswith("Of the patients nothing can be said")
    assert tell_best([]) == ""


def test_facts_are_read_from_a_comparison(comparison: Comparison) -> None:
    found = read_changed(comparison.summary)
    flips = comparison.verdicts["flip"].isin(["base_only", "other_only"])
    assert (found.base, found.other) == ("gold", "silver")
    assert sum(found.flips.values()) == int(flips.sum())
    assert found.tests == int(comparison.verdicts["swap_p_fdr"].notna().sum())
    assert isinstance(comparison.verdicts, pd.DataFrame)
    assert tell_change(comparison.summary).startswith(f"{found.changed} of {found.tests} tests")
    assert tell_change(None) == ""
    assert tell_change({"base_regime": "v1"}) == ""
