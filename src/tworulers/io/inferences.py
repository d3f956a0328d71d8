"""How label maps were predicted, where not as recipe and trainer say: a file beside them, which later results quote."""

from collections.abc import Iterable
from pathlib import Path

from tworulers.io.records import read_json, write_json
from tworulers.schema.result_files import INFERENCE, LABELS, SUMMARY

TOLD, OF_RULER = "inference", "inference_of_ruler"
"""Keys of what is told: of the label maps that are judged, and of those that judge."""


def write_inference(told: str, folder: Path) -> None:
    """Write beside label maps how they were predicted; `told` is empty where it was as recipe and trainer say."""
    write_json({TOLD: told}, folder / INFERENCE)


def read_inference(folder: Path) -> str:
    """Read how the label maps of a result were predicted; nothing where that is not said."""
    path = folder / INFERENCE
    return str(read_json(path, "predict").get(TOLD, "")) if path.is_file() else ""


def quote_inferences(judged: Path, judging: Iterable[Path]) -> dict[str, str]:
    """Quote how predictions were made, and the label maps that judge them, as far as there is something to tell.

    Parameters
    ----------
    judged : the folder of the predictions.
    judging : the label maps that judge, whoever made them; those of a result lie in its folder of label maps.
    """
    folders = sorted({path.parent.parent for path in judging if path.parent.name == LABELS})
    told = {
        TOLD: read_inference(judged),
        OF_RULER: "; ".join(dict.fromkeys(filter(None, map(read_inference, folders)))),
    }
    return {name: text for name, text in told.items() if text}


def read_quoted(scores: Path) -> dict[str, str]:
    """Read what a result of scores quotes; nothing where it quotes nothing."""
    path = scores / SUMMARY
    content = read_json(path, "score") if path.is_file() else {}
    return {name: str(content.get(name, "")) for name in (TOLD, OF_RULER)}
