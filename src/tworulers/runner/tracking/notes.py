"""The description of a run, paragraph by paragraph: links are put in and taken out, the rest stays as it is."""

from typing import Any

NOTE = "mlflow.note.content"
WHY = "Why they differ:"
"""How the paragraph of an audit begins that leads to its comparisons."""

OF = "The audits compared:"
"""How the paragraph of a comparison begins that leads to its audits."""

VIEW = "workflowType=machine_learning"
"""What makes MLflow show its pages for trained models; by default it shows those for language models."""


def put_paragraph(client: Any, run: Any, start: str, text: str) -> None:
    """Put a paragraph in place of the one that begins with `start`; none where its text is empty.

    Parameters
    ----------
    client : MLflow's.
    run : as the client gives it.
    start, text : how the paragraph begins, and what follows.

    What leads to the reason of a difference stands first, any other paragraph behind the first of the description
    itself: MLflow folds a long one after a few lines.
    """
    before = run.data.tags.get(NOTE, "")
    kept = [part for part in before.split("\n\n") if not part.startswith(start)]
    place = 0 if start in (WHY, OF) else 1 + kept[0].startswith((WHY, OF))
    if text:
        kept.insert(place, f"{start} {text}")
    after = "\n\n".join(kept)
    if after != before:
        client.set_tag(run.info.run_id, NOTE, after)
        run.data.tags[NOTE] = after


def link_run(experiment: str, run: str, name: str) -> str:
    """Write a link to the page of a run."""
    return f"[{name}](#/experiments/{experiment}/runs/{run}?{VIEW})"
