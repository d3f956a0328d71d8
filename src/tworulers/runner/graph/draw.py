"""A picture of the graph for people: one node a step, whatever it is expanded over, in Mermaid."""

from collections.abc import Iterator, Sequence

from tworulers.runner.graph.wiring import Step

ROOMS = {
    "data": ("inventory", "cohort", "split", "plan", "preprocess"),
    "models": ("train", "annotate", "select", "predict"),
    "verdicts": ("score", "audit", "compare", "report", "publish"),
}
HEAD = """\
# The pipeline

<!-- Written by ./scripts/write_graph: do not edit. -->
`dvc repro` runs these steps, each as far as anything that it reads has changed. Every step also watches the settings
that it reads and a digest of its code, which the step `code` writes first; what each reads is said once, in
`src/tworulers/runner/graph/table.py`.

"""
TAIL = """
* **What would run**: `./scripts/status`. No comment, docstring or layout of code makes a step run.
* **What changed in the answers**: `dvc metrics diff`, `dvc plots show`, `dvc exp show`.
* **One dataset beside another**: steps carry their dataset in their names (`audit@phantom-mix-gold`), so `dvc.lock` and
  `artifacts/` keep what one dataset made when `conf/grid.yaml` names another, and going back runs nothing. DVC's
  `push`, `pull` and `gc` see the dataset that is named: push each, and do not run `gc` where there are two.
* **Interrupted work** goes on, by `dvc repro` and by hand alike, as long as nothing that decides it has changed:
  the settings of recipe and trainer, the files that it reads, and the code that makes it. For a training that is
  the code of networks, sampling, augmentation, loss and prepared labels; for arrays that of preparing images; for
  label maps and machine labels that of predicting; for the synthetic cohort the folder `phantom/`. What is said,
  recorded or shown costs nothing. Otherwise a line names the setting or the file (`begun anew: other code in
  recipe/loss.py`), and the unfinished work is removed. Folds that were trained under other code are never put
  beside new ones: the training is refused. Scores, audits, comparisons and reports are written whole, or not at
  all.
* **A result made by hand** in the place of one of the pipeline's is put back by the next `dvc repro`, which says so;
  `paths=sweep` keeps both.
"""


def draw_graph(steps: Sequence[Step]) -> str:
    """Return the page with the picture of all steps."""
    return f"{HEAD}```mermaid\nflowchart TB\n{chr(10).join(_draw(steps))}\n```\n{TAIL}"


def _draw(steps: Sequence[Step]) -> Iterator[str]:
    for room, stages in ROOMS.items():
        yield f"  subgraph {room}[ ]"
        for step in steps:
            if step.stage in stages:
                over = [name for name in step.expand() if name != "dataset"]
                each = f"<br>each {', '.join(over)}" if over else ""
                yield f'    {step.name}["<b>{step.name}</b>{each}"]'
        yield "  end"
    for first, second in _reduce(_list_edges(steps)):
        yield f"  {first} --> {second}"


def _list_edges(steps: Sequence[Step]) -> list[tuple[str, str]]:
    """List which step makes something that another reads."""
    return [
        (maker.name, step.name)
        for step in steps
        for maker in steps
        if maker is not step and any(_gives(maker, step, place) for place in _needs(step))
    ]


def _needs(step: Step) -> list[str]:
    return [_spell(step, place) for place in step.inputs]


def _gives(maker: Step, reader: Step, needed: str) -> bool:
    """Tell whether one of a step's outputs is, holds, or lies below a needed place, for any choice of the grid."""
    made = [_spell(maker, place).split("/") for place in maker.wiring.outputs]
    return any(
        all(
            _may_be(one, other, maker, reader)
            for one, other in zip(out, needed.split("/"), strict=False)
        )
        for out in made
    )


def _may_be(one: str, other: str, maker: Step, reader: Step) -> bool:
    return bool(_choices(one, maker) & _choices(other, reader)) or "*" in (one, other)


def _choices(part: str, step: Step) -> set[str]:
    if not part.startswith("{"):
        return {part}
    over = step.matrix[part.strip("{}")]
    return set(over) if isinstance(over, list) else {part}


def _spell(step: Step, place: str) -> str:
    """Write a place with what the step's command gives; lists of the grid stand for any name."""
    names = {
        name: f"{{{name}}}" if isinstance(of, list) else "*" for name, of in step.matrix.items()
    }
    return place.format(**{**names, **step.given})


def _reduce(edges: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out edges that a longer way says already."""
    after: dict[str, set[str]] = {}
    for first, second in edges:
        after.setdefault(first, set()).add(second)

    def reach(start: str) -> set[str]:
        found: set[str] = set()
        pending = list(after.get(start, ()))
        while pending:
            one = pending.pop()
            if one not in found:
                found.add(one)
                pending += after.get(one, ())
        return found

    return [
        (first, second)
        for first, second in dict.fromkeys(edges)
        if not any(second in reach(other) for other in after[first] if other != second)
    ]
