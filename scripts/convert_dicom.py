"""Convert a folder of DICOM series to NIfTI and a manifest: ``convert_dicom.py SOURCE TARGET``.

Every folder with files is one series and one exam; the exam is called by its path below SOURCE.
Fill in the manifest's labels and people, then run ``python -m tworulers.stages.check
dataset=manifest dataset.root=TARGET``."""

import sys
from pathlib import Path

import pandas as pd

from tworulers.ingest.dicom import convert_series, list_series
from tworulers.ingest.faults import IngestError


def main(source: Path, target: Path) -> int:
    rows, failed = [], 0
    for series in list_series(source):
        exam = "_".join(series.relative_to(source).parts) or source.name
        try:
            image = convert_series(series, target / "images" / f"{exam}.nii.gz")
            rows.append({"exam_id": exam, "image": image.relative_to(target).as_posix()})
        except IngestError as error:
            print(error, file=sys.stderr)
            failed += 1
    frame = pd.DataFrame(rows, columns=["exam_id", "patient_id", "image", "label", "provenance"])
    frame.to_csv(target / "manifest.csv", index=False)
    print(f"{len(rows)} series converted, {failed} failed; see {target / 'manifest.csv'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
