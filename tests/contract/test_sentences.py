"""Statistics return facts: no module below the report holds a sentence. Reasons and errors are short and no prose."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "tworulers"
ROOMS = ("stats", "battery", "diagnosis", "auc")
WORD = re.compile(r"[A-Za-z]{2,}|\{\}")


def read_texts(source: str) -> Iterator[str]:
    """Every text of a module but docstrings and what is raised, a brace for each value within."""
    tree = ast.parse(source)
    silent: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            silent |= set(ast.walk(node))
        elif isinstance(node, ast.Expr):
            silent.add(node.value)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            silent |= set(node.values)
            if node not in silent:
                parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
                yield "".join(map(str, parts))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in silent:
            yield node.value


def is_sentence(text: str) -> bool:
    """More than four words that begin, end or go on as a sentence does."""
    begins = re.match(r"\s*(?:[A-Z][a-z]+|A|I)\b", text) is not None
    return len(WORD.findall(text)) > 4 and (
        begins or text.rstrip().endswith(".") or re.search(r"\w[.] [A-Z{]", text) is not None
    )


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_of_statistics_holds_no_sentence(room: str) -> None:
    modules = sorted((PACKAGE / room).rglob("*.py"))
    assert modules
    found = [
        f"{path.relative_to(PACKAGE)}: {text}"
        for path in modules
        for text in read_texts(path.read_text(encoding="utf-8"))
        if is_sentence(text)
    ]
    assert found == [], "say it in report/words, from facts"


def test_a_sentence_is_seen_and_a_reason_is_not() -> None:
    source = '''
def judge(name, p):
    """This is a docstring of many words."""
    if p is None:
        raise ValueError(f"The p of {name} is not known to anybody.")
    reason = "fewer than two groups with two exams"
    return reason, f"the ruler {name} makes a difference (p {p})."
'''
    assert [text for text in read_texts(source) if is_sentence(text)] == [
        "the ruler {} makes a difference (p {})."
    ]
    assert any(
        is_sentence(text) for text in read_texts('WHY = "Both rulers show a difference here"')
    )
    assert not is_sentence("exam {}: {} of {} is given more than once")
