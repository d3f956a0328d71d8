"""Whether a ruler's model and the audited one learn from labels of one kind is known of the pipeline's own regimes."""

from pathlib import Path

import pytest

from tworulers.runner.reading import find_related
from tworulers.schema.settings import Ruler
from tworulers.schema.sources import Reference, ScoreTable

MODELS = ("gold", "mix", "silver", "elsewhere")


def test_regimes_that_learn_from_one_provenance_are_related(root: Path) -> None:
    assert find_related("gold", MODELS, root) == {"gold", "mix"}
    assert find_related("silver", MODELS, root) == {"silver", "mix"}
    assert find_related("elsewhere", MODELS, root) == frozenset()
    assert find_related(None, MODELS, root) == frozenset()


@pytest.mark.parametrize("kind", [Ruler, Reference, ScoreTable])
def test_a_relation_is_declared_by_its_word_and_unknown_where_nobody_does(kind: type) -> None:
    assert kind().relation == "unknown"
    assert kind(relation="shares_training").relation == "shares_training"
    with pytest.raises(ValueError, match=r"relation 'cousin' .* one of \['shares_training', 'ind"):
        kind(relation="cousin")
