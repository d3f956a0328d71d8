"""What the words of a page mean, each in a sentence."""

import re
from collections.abc import Mapping
from html import unescape

from tworulers.report.words.verdicts import MEANINGS, TITLES

TERMS: Mapping[str, str] = {
    "ruler": "The reference labels that predictions are judged by. Another ruler gives other scores to the same "
    "predictions.",
    "provenance": "Who drew the labels of a ruler: gold are experts, silver a machine, mixed both, truth the "
    "noise-free truth of a synthetic cohort, biased labels distorted on purpose.",
    "regime": "What a model was allowed to learn from: experts' labels, a machine's, or both.",
    "macro": "The mean of a score over the structures of an exam.",
    "points": "Hundredths of a score from 0 to 1: Dice 0.90 and 0.88 lie 2 points apart.",
    "Dice": "Twice the overlap of prediction and reference over their joint size: 1 is perfect, 0 no overlap.",
    "nDSC": "Dice with false positives weighed so that large and small structures can be compared.",
    "HD95": "The distance (mm) that 95 % of the surface of one mask stay below to that of the other: 0 is perfect.",
    "gap of medians": "The distance between the medians of the best and of the worst group.",
    "SD": "Standard deviation.",
    "differs": "A test shows a difference between groups, after correction over all tests.",
    "within the margin": "Intervals of the shift and of failures lie inside the margins stated beforehand, for every "
    "pair of groups: alike as far as that.",
    "cannot say": "Neither a difference nor equality within the margin is shown; more exams would be needed.",
    "margin": "Up to which difference groups count as alike, as stated before the audit.",
    "adjusted p": "p corrected for the number of tests made, by Benjamini and Hochberg's rule over the family.",
    "family": "The tests that are corrected together.",
    "shift": "The median of all differences between an exam of one and an exam of another group.",
    "DIR": "Disparate impact ratio: the lowest success rate of a group over the highest; 1 is equal.",
    "DPD": "Demographic parity difference: the highest success rate of a group minus the lowest.",
    "four fifths": "A ratio of success rates below 0.8 is taken as a sign of adverse impact.",
    "permutation p": "p from moving exams (or patients) between groups at random.",
    "forgiven": "The share of a model's distance from a perfect score that the other ruler closes.",
    "shared error": "How far the errors of the ruler are those of the model.",
    "spread ratio": "How many times wider the scores spread within groups under the first ruler than under the second.",
    "p of exchanging rulers": "p from exchanging the two rulers exam by exam at random: whether a test changed by more "
    "than chance.",
    "gap / noise part of H": "How much of the change of the Kruskal-Wallis statistic H came from groups moving apart, "
    "and how much from scores spreading less.",
    "H": "The Kruskal-Wallis statistic: how far the ranks of groups lie apart, for their spread.",
    "effect": "How far groups lie apart on a scale from 0 to 1, whatever their number of exams.",
    "anchored": "Means of machine-judged exams, corrected by the exams that an expert judged as well.",
    "concordance": "The share of pairs of exams in which the less certain one is the worse one; 0.5 is no better than "
    "a coin.",
    "AUC": "The share of pairs of an event and a non-event in which the event has the higher score; ties count half.",
    "random groups": "Groups drawn by chance, which mean nothing: what is found in them is what chance finds.",
    "primary question": "A test that was named and locked before the data were looked at.",
}
"""Terms as they stand on a page."""


def find_terms(page: str) -> list[tuple[str, str]]:
    """List the terms and the verdicts that a page in HTML uses, each with what it means, in alphabetical order."""
    bare = re.sub(r"<(svg|style|title).*?</\1>", " ", page, flags=re.DOTALL)
    text = unescape(re.sub(r"<[^>]+>", " ", bare))
    verdicts = {TITLES[name]: meaning for name, meaning in MEANINGS.items()}
    known = {**TERMS, **{name: f"{m[:1].upper()}{m[1:]}." for name, m in verdicts.items()}}
    used = [t for t in known if re.search(rf"(?<!\w){re.escape(t)}s?(?!\w)", text)]
    return [(term, known[term]) for term in sorted(used, key=str.lower)]
