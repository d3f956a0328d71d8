"""How DICOM series become NIfTI: by dcm2niix, one file a series."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tworulers.ingest.faults import Fault, FaultKind, IngestError
from tworulers.ingest.folders import is_debris, list_images


def convert_series(series: Path, target: Path) -> Path:
    """Convert one DICOM series to one NIfTI file.

    Parameters
    ----------
    series : a folder of the series' files.
    target : the file to write, ending in ``.nii.gz``.

    Raises
    ------
    IngestError : no dcm2niix, a series it cannot convert, or one that it splits into several
        images."""
    program = shutil.which("dcm2niix")
    if program is None:
        mend = "install it (it comes as a program and as the Python package dcm2niix)"
        raise IngestError([Fault(FaultKind.FILES, "the program dcm2niix", "none", mend)])
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as name:
        command = [program, "-z", "y", "-b", "n", "-f", "image", "-o", name, str(series)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        made = list_images(Path(name), Path(name)).files
        if len(made) != 1:
            last = (done.stdout + done.stderr).strip().splitlines()[-1:] or ["no output"]
            found = f"{sorted(made)} (status {done.returncode}: {last[0]})"
            mend = "is it one series? Take localizers and derived images out"
            fault = Fault(FaultKind.FILES, "one image", found, mend, str(series))
            raise IngestError([fault])
        next(iter(made.values())).replace(target)
    return target


def list_series(root: Path) -> list[Path]:
    """List the folders at any depth that hold files themselves: one folder a series."""
    files = [path for path in root.rglob("*") if path.is_file() and not is_debris(path)]
    return sorted({path.parent for path in files})
