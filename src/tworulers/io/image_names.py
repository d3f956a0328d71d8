"""How image files are called, by their formats."""

from pathlib import Path

from tworulers.io.itk_files import ITK

NIFTI = (".nii.gz", ".nii")
"""How a NIfTI file ends, in any case of letters."""

IMAGES = (*NIFTI, ".mgz", ".mgh", *ITK)
"""How the files end that are read as label maps."""


def stem_of(path: Path) -> str:
    """Return the name of an image file without its extension."""
    name = path.name
    for extension in IMAGES:
        if name.casefold().endswith(extension):
            return name[: -len(extension)]
    return path.stem


def name_format(path: Path) -> str:
    """Return what the format of a file is called."""
    return "NIfTI" if path.name.casefold().endswith(NIFTI) else path.suffix


def list_parts(folder: Path) -> dict[str, Path]:
    """List the image files of a folder that holds one a structure, by their names without extension."""
    return {
        stem_of(path): path
        for path in sorted(folder.iterdir())
        if path.name.casefold().endswith(IMAGES) and not path.name.startswith(".")
    }
