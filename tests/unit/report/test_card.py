"""The model card beside the page: its fields, on one page, in the words and numbers of the page."""

import re

from tworulers.report.card import gather_card
from tworulers.report.findings import Findings
from tworulers.report.lay_out import lay_out
from tworulers.report.tables import escape_markdown
from tworulers.report.view import make_view
from tworulers.report.words.model_card import write_card


def test_the_card_says_what_the_page_says(findings: Findings) -> None:
    headline, page = lay_out(findings)
    facts = gather_card(make_view(findings), headline)
    card = write_card(facts)
    assert page.verdicts is not None
    assert facts.table is not None
    for told, shown in zip(facts.table.rows, page.verdicts.rows, strict=True):
        assert told[0] == shown[0].word
        assert told[-1] == shown[-1].word
        for brief, cell in zip(told[1:-1], shown[1:-1], strict=True):
            word, gap = brief.split("; ")
            assert word == cell.word
            assert cell.lines[0].startswith(f"{gap}, adjusted p ")
            assert escape_markdown(gap) in card
    for sentence in (headline.patients, headline.ruler, *facts.missed):
        assert escape_markdown(sentence) in card
    (missed,) = [one for one in page.sections if one.anchor == "missed"]
    assert facts.missed[0] == missed.paragraphs[0]
    assert "- Sex: Female (n 38), Male (n 38)\n" in card
    assert "- gold: expert labels (provenance gold), drawn by experts\n" in card
    assert "Not known: the predictions were made elsewhere." in card
    assert re.search(r"tworulers [\d.]+, settings SHA-256 [0-9a-f]{16}\.", card)
