"""Which image files lie in a folder, and which of two folders belong together by name."""

import re
from dataclasses import dataclass
from pathlib import Path

from tworulers.ingest.faults import Fault, FaultKind
from tworulers.ingest.id_rules import EXAM as EXAM
from tworulers.io.image_names import IMAGES as IMAGES
from tworulers.io.image_names import stem_of as stem_of

READ = "an image that is read (NIfTI, NRRD, MetaImage or MGH, each in one file)"
_OTHER_IMAGES = (".mhd", ".nhdr", ".dcm", ".img", ".hdr", ".tif", ".tiff", ".png", ".npy")
_DEBRIS = {"thumbs.db", "desktop.ini", "__macosx"}
_CHANNEL = re.compile(r"^(?P<exam>.+)_(?P<channel>\d{4})$")


@dataclass(frozen=True)
class Listing:
    """The images of a folder by name without extension, and notes on what else lay there.

    Where there is one image a structure, files are the folders that hold those of an exam, and `parts` their names.
    """

    folder: str
    files: dict[str, Path]
    faults: list[Fault]
    parts: tuple[str, ...] = ()


def is_debris(path: Path) -> bool:
    """Tell whether a file was left by an operating system or an archive rather than by a person."""
    return path.name.startswith(".") or path.name.casefold() in _DEBRIS


def list_images(folder: Path, root: Path) -> Listing:
    """List the images of a folder, ignoring debris and naming every image of another kind.

    Parameters
    ----------
    folder : a folder; missing is a fault.
    root : the folder that names in messages are relative to.
    """
    shown = folder.relative_to(root).as_posix() if folder.is_relative_to(root) else str(folder)
    if not folder.is_dir():
        found = "a file" if folder.exists() else "nothing"
        return Listing(
            shown, {}, [Fault(FaultKind.PAIRING, "a folder", found, "check the root", file=shown)]
        )
    files: dict[str, Path] = {}
    faults: list[Fault] = []
    debris = 0
    for path in sorted(folder.iterdir()):
        if is_debris(path):
            debris += 1
        elif path.name.casefold().endswith(IMAGES):
            name = stem_of(path)
            if name in files:
                faults.append(
                    Fault(
                        FaultKind.DUPLICATES,
                        "one file",
                        f"{files[name].name} and {path.name}",
                        "remove one of the two",
                        file=f"{shown}/{path.name}",
                        exam=name,
                    )
                )
            files[name] = path
        elif path.name.casefold().endswith(_OTHER_IMAGES):
            faults.append(
                Fault(
                    FaultKind.FILES,
                    READ,
                    path.suffix,
                    "convert it to NIfTI; DICOM series with dcm2niix",
                    file=f"{shown}/{path.name}",
                )
            )
    if debris:
        faults.append(
            Fault(FaultKind.FILES, "", f"{debris} system files ignored", file=shown, note=True)
        )
    return Listing(shown, files, faults)


def pick_named(images: Listing, pattern: str) -> Listing:
    """Keep the images whose names fit a pattern such as ``{exam}_seg``, named by the exam alone.

    Raises
    ------
    ValueError : the pattern does not hold ``{exam}`` exactly once.
    """
    if pattern == EXAM:
        return images
    before, found, after = pattern.partition(EXAM)
    if not found or EXAM in after:
        raise ValueError(f"pattern {pattern!r}: expected one {EXAM}, such as {EXAM}_seg")
    files = {
        name[len(before) : len(name) - len(after)]: path
        for name, path in images.files.items()
        if name.startswith(before) and name.endswith(after) and len(name) > len(before) + len(after)
    }
    return Listing(images.folder, files, images.faults)


def group_channels(images: Listing) -> tuple[dict[str, dict[int, Path]], list[Fault]]:
    """Group files ``<exam>_<dddd>`` by exam; only the last four digits are the channel.

    Returns
    -------
    The file of each channel by exam, and a fault for each file without a channel.
    """
    exams: dict[str, dict[int, Path]] = {}
    faults = []
    for name, path in images.files.items():
        match = _CHANNEL.match(name)
        if match is None:
            faults.append(
                Fault(
                    FaultKind.PAIRING,
                    "a name that ends in the channel, such as _0000",
                    path.name,
                    f"rename it to {name}_0000{path.name[len(name) :]}",
                    file=f"{images.folder}/{path.name}",
                )
            )
        else:
            exams.setdefault(match["exam"], {})[int(match["channel"])] = path
    return exams, faults


def pair_by_name(
    images: dict[str, Path], labels: Listing, image_folder: str
) -> tuple[list[str], list[Fault]]:
    """Pair images with labels by name and list what has no partner, in both directions."""
    paired = sorted(set(images) & set(labels.files))
    faults = [
        Fault(
            FaultKind.PAIRING,
            f"a label {labels.folder}/{name}.nii.gz",
            "none",
            "add the label, or take the image out",
            file=f"{image_folder}/{images[name].name}",
            exam=name,
            details={"image_without_label": name},
        )
        for name in sorted(set(images) - set(labels.files))
    ]
    faults += [
        Fault(
            FaultKind.PAIRING,
            f"an image in {image_folder}",
            "none",
            "add the image, or take the label out",
            file=f"{labels.folder}/{labels.files[name].name}",
            exam=name,
            details={"label_without_image": name},
        )
        for name in sorted(set(labels.files) - set(images))
    ]
    return paired, faults
