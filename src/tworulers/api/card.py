"""The facts of a model card, gathered from any answer of the Python door."""

from typing import Any

import pandas as pd

from tworulers.api.contrasts import list_keys
from tworulers.report.tables import (
    UNDEFINED,
    Table,
    make_table,
    write_estimate,
    write_number,
    write_rate,
)
from tworulers.report.words.answers import ANSWERS, write_needed
from tworulers.report.words.model_card import CardFacts, say_data, say_method
from tworulers.schema.metric import Metric
from tworulers.schema.tables import list_rows

ROWS = 40
"""Rows of results on the page; the others are counted."""


def gather_facts(result: Any, model: str, intended_use: str) -> CardFacts:
    """Gather what a card says of a result (`api.results.Result`).

    Parameters
    ----------
    result : the answer.
    model : what the model is called; empty takes the names in the result.
    intended_use : of the audit; empty takes the general one.
    """
    sides = [one for one in _list_sides(result.metadata) if "provenance" in one]
    named = {str(one["model"]) for one in sides} - {"model"}
    return CardFacts(
        title=f"Fairness of a model: {result.title}",
        model=model or ", ".join(sorted(named)),
        intended_use=intended_use,
        data=say_data(result.metadata, sides, result.by_group),
        rulers={str(one["ruler"]): str(one["provenance"]) for one in sides},
        groups=[_tabulate_results(result.by_group)],
        held=_tabulate_answers(result) if any(one.get("margin") for one in sides) else [],
        answers=result.sentences,
        method=say_method(result.metadata, sides),
        caveats=result.warnings,
    )


def _list_sides(metadata: dict[str, Any]) -> list[dict[str, Any]]:
    """List what was asked of each side: the metadata itself, or one of a comparison's."""
    nested = [value for value in metadata.values() if isinstance(value, dict)]
    return [metadata, *nested]


def _tabulate_results(by_group: pd.DataFrame) -> Table:
    """Tabulate what every group has: exams and scores, or events and its AUC."""
    about = [name for name in list_keys(by_group) if len(set(by_group[name])) > 1]
    keys = list(dict.fromkeys(["grouping", "group", *about]))
    columns, write = (
        (["n events", "n others", "AUC"], _write_auc)
        if "auc" in by_group
        else (["n", "mean", "median", "succeed"], _write_score)
    )
    rows = [
        [*(str(row[key]) for key in keys), *write(row)] for row in list_rows(by_group.head(ROWS))
    ]
    more = len(by_group) - len(rows)
    note = f"{more} more rows are in by_group of the result." if more > 0 else ""
    return make_table("", [*keys, *columns], rows, note)


def _tabulate_answers(result: Any) -> list[Table]:
    """Tabulate the answer of every test, with the pair of groups that is furthest from proof."""
    metrics, tests, pairs = result.study.metrics, result.tests, result.equivalence
    keys = [name for name in list_keys(tests) if name in pairs and len(set(tests[name])) > 1]
    keys = list(dict.fromkeys(["grouping", *(name for name in keys if name in ("model", "ruler"))]))
    found = dict(list(pairs.groupby([*keys, "structure", "metric"], sort=False)))
    rows = []
    for test in list_rows(tests.head(ROWS)):
        metric = metrics[test["metric"]]
        mine = found.get(
            tuple(test[name] for name in (*keys, "structure", "metric")), pairs.head(0)
        )
        needed = write_needed(test)
        rows.append(
            [
                *(str(test[name]) for name in keys),
                metric.name_of(test["structure"]),
                ANSWERS[test["answer"]],
                *_write_pair(mine, metric),
                needed,
            ]
        )
    level = f" [{100 * pairs['level'].iloc[0]:.0f} % interval]" if len(pairs) else ""
    more = len(tests) - len(rows)
    note = f"{more} more tests are in tests of the result." if more > 0 else ""
    columns = [*keys, "score", "answer", "groups", f"shift{level}", "margin", "n needed"]
    return [make_table("", columns, rows, note)]


def _write_pair(pairs: pd.DataFrame, metric: Metric) -> list[str]:
    """Write the pair with the largest p: its groups, its shift and the margin."""
    if pairs.empty:
        return [UNDEFINED] * 3
    pair = list_rows(pairs.nlargest(1, "p_within", keep="first"))[0]
    shift = [pair[f"shift{end}"] for end in ("", "_low", "_high")]
    return [
        f"{pair['group_b']} − {pair['group_a']}",
        write_estimate(shift, metric.write_difference, pair["undefined_because"]),
        metric.write_difference(pair["margin"]),
    ]


def _write_auc(row: dict[str, Any]) -> list[str]:
    bounds = (row["auc"], row["low"], row["high"])
    auc = write_estimate(bounds, lambda value: write_number(value, 3), row["undefined_because"])
    return [str(row["n_events"]), str(row["n_non_events"]), auc]


def _write_score(row: dict[str, Any]) -> list[str]:
    n = int(row["n"])
    successes = row.get("successes", float("nan"))
    rate = "" if pd.isna(successes) else write_rate(int(successes), n)
    return [str(n), write_number(row["mean"], 4), write_number(row["median"], 4), rate]
