"""DICOM series are handed to dcm2niix; what it does not turn into one image is named."""

from pathlib import Path

import pytest
from tiny_sources import draw_image, save

from tworulers.ingest.dicom import convert_series, list_series
from tworulers.ingest.faults import IngestError


def fake_converter(folder: Path, images: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called dcm2niix on the path that makes so many images."""
    made = save(folder / "made.nii.gz", draw_image(0))
    copies = "".join(f'cp "{made}" "$8/image_{i}.nii.gz"\n' for i in range(images))
    program = folder / "dcm2niix"
    program.write_text(f'#!/bin/sh\n{copies}echo "the last word"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_one_series_becomes_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_converter(tmp_path / "bin", 1, monkeypatch)
    (tmp_path / "source" / "p1" / "s1").mkdir(parents=True)
    (tmp_path / "source" / "p1" / "s1" / "0001.dcm").write_bytes(b"x")
    (series,) = list_series(tmp_path / "source")
    made = convert_series(series, tmp_path / "out" / "p1.nii.gz")
    assert made.is_file()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["p1.nii.gz"]


@pytest.mark.parametrize("images", [0, 2])
def test_anything_but_one_image_is_a_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: int
) -> None:
    fake_converter(tmp_path / "bin", images, monkeypatch)
    with pytest.raises(IngestError, match=r"expected one image.*the last word"):
        convert_series(tmp_path, tmp_path / "out.nii.gz")
    assert not (tmp_path / "out.nii.gz").exists()


def test_a_missing_program_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IngestError, match="the program dcm2niix"):
        convert_series(tmp_path, tmp_path / "out.nii.gz")
