"""Images and labels prepared as the networks see them, those that are not there yet."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path

from tworulers.io.digests import digest_file, digest_files
from tworulers.io.images import ImageError
from tworulers.io.paths import Layout
from tworulers.io.pool import map_in_pool
from tworulers.io.records import made_by, require
from tworulers.io.resume import digest
from tworulers.progress import say
from tworulers.recipe.plan import DatasetFacts, Plans
from tworulers.recipe.preprocess import preprocess_image, preprocess_label
from tworulers.recipe.store import (
    is_stored,
    is_whole,
    list_image_files,
    load_geometry,
    load_sum,
    store_image,
    store_label,
)
from tworulers.schema.damage import DamagedError
from tworulers.training.volumes import read_channels, read_reference

Item = tuple[str, Path]
"""An exam, and its file."""

SHOWN = 10


def prepare_images(
    images: Mapping[str, Path],
    folder: Path,
    plans: Plans,
    configuration: str,
    channels: int,
    dtype: str,
    processes: int,
) -> int:
    """Bring images to the grid of a configuration, and return how many there were to be done.

    Parameters
    ----------
    images : the file of each exam's first channel.
    folder : where the arrays go.
    plans, configuration : the grid.
    channels : how many files an exam's image has.
    dtype : of the arrays on disk.
    processes : how many work side by side.
    """
    prepare = partial(_prepare_image, folder, plans, configuration, channels, dtype)
    return _prepare(images, folder, prepare, processes, f"preparing {configuration}")


def prepare_labels(
    labels: Mapping[str, Path],
    folder: Path,
    images: Path,
    facts: DatasetFacts,
    processes: int,
) -> int:
    """Bring labels to the grid of their prepared images, and return how many there were to be done."""
    prepare = partial(_prepare_label, folder, images, facts.foreground, facts.ignore_label)
    return _prepare(labels, folder, prepare, processes, "preparing labels")


def _prepare(
    files: Mapping[str, Path],
    folder: Path,
    prepare: Callable[[Item], None],
    processes: int,
    described: str,
) -> int:
    stored = {exam for exam in files if is_stored(folder, exam)}
    # What a run left that was cut off is looked at: a machine that went down may have kept names without contents.
    broken = sorted(exam for exam in stored if not is_whole(folder, exam))
    if broken:
        say(
            f"{described}: {len(broken)} damaged in {folder} are done again: {', '.join(broken[:5])}"
        )
    pending = [item for item in files.items() if item[0] in broken or item[0] not in stored]
    return len(map_in_pool(partial(_name_exam, prepare), pending, processes, described))


def _name_exam(prepare: Callable[[Item], None], item: Item) -> None:
    """Prepare one exam; what is wrong with it is said with its name."""
    try:
        prepare(item)
    except ImageError:
        raise
    except ValueError as error:
        raise ImageError(f"exam {item[0]} ({item[1]}): {error}") from error


def _prepare_image(
    folder: Path, plans: Plans, configuration: str, channels: int, dtype: str, item: Item
) -> None:
    image, spacing = read_channels(item[1], channels)
    array, geometry = preprocess_image(image, spacing, plans, configuration)
    store_image(folder, item[0], array, geometry, dtype)


def _prepare_label(
    folder: Path, images: Path, structures: Sequence[int], ignore: int | None, item: Item
) -> None:
    label = read_reference(item[1], [*structures, *([] if ignore is None else [ignore])])
    geometry = load_geometry(images, item[0])
    store_label(folder, item[0], preprocess_label(label, geometry, structures, ignore), label)


def digest_arrays(folders: Mapping[str, Path], exams: Collection[str], layout: Layout) -> str:
    """Digest prepared images, for the stamp of what is made from them.

    Parameters
    ----------
    folders : the images of each configuration.
    exams : whose.
    layout : where digests of files that were read before are kept.

    Raises
    ------
    MissingInputError : an exam is not prepared.
    DamagedError : arrays do not hold what was written; the message names the exams and files.
    """
    paths = {
        f"{name}/{file.name}": require(file, made_by("preprocess"))
        for name, folder in folders.items()
        for exam in exams
        for file in list_image_files(folder, exam)
    }
    found = digest_files(paths.values(), layout.digests)
    faults = []
    for folder in folders.values():
        for exam in exams:
            array, _ = list_image_files(folder, exam)
            written = load_sum(folder, exam)
            # A kept digest may itself be wrong, so the file has the last word.
            if written not in ("", found[array]) and written != digest_file(array):
                faults.append(f"exam {exam}: {array}")
    if faults:
        raise DamagedError(
            f"{len(faults)} prepared images are damaged; make them again with {made_by('preprocess')}:\n  "
            + "\n  ".join(faults[:SHOWN])
        )
    return digest({name: found[path] for name, path in paths.items()})
