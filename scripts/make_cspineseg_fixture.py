"""Make a small fake CSpineSeg download: invented people and ids, phantom scans, the documented
files and tables.

    python scripts/make_cspineseg_fixture.py TARGET --patients 40 --experts 16
    python -m tworulers.stages.check dataset=cspineseg dataset.root=TARGET

In the first release every mask says ``Retrospective_auto`` and the experts' are told by
``expert_series.csv`` alone (``dataset.reading.experts=expert_series.csv``); with ``--release
marked`` the table says it."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from tworulers.io.images import write_image, write_label
from tworulers.phantom.exams import make_exam
from tworulers.phantom.people import draw_people
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.settings import Provenance

SITE = "700001"
UID = "9.9.700001"
RACES = {"Black": "Black or African American"}
ETHNICITIES = {"Hispanic": "Hispanic or Latino", "Non-Hispanic": "Not Hispanic or Latino"}


def make_fixture(target: Path, settings: Phantom, release: str) -> pd.DataFrame:
    """Write images, masks and tables below `target`, and return who is in them with file names."""
    people = draw_people(settings)
    number = people["patient_id"].astype("category").cat.codes + 1
    people["case"] = [f"{SITE}-{n:06d}" for n in number]
    people["study"] = np.arange(1, len(people) + 1)
    people["series"] = people["study"] % 9 + 2
    people["name"] = [
        f"{row.case}_Study-MR-{row.study}_Series-{row.series}" for row in people.itertuples()
    ]
    for row in people.to_dict("records"):
        exam = make_exam(row, settings)
        gold = row["provenance"] == Provenance.GOLD
        # Machine masks are the noise-free ones: what matters here is that they exist.
        mask = exam.expert if gold else exam.truth
        write_image(target / "annotation" / f"{row['name']}.nii.gz", exam.image, exam.affine)
        write_label(target / "segmentation" / f"{row['name']}_SEG.nii.gz", mask, exam.affine)
    write_tables(target, people, release)
    return people


def write_tables(target: Path, people: pd.DataFrame, release: str) -> None:
    """Write the tables of the documented shape, and the list of what experts drew."""
    study = UID + "." + people["study"].astype(str)
    series = study + "." + people["series"].astype(str)
    tables = {**tabulate_people(people, study), **tabulate_files(people, series, release)}
    folder = target / "structured"
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        table.to_csv(folder / f"{name}_TOY_20250101.tsv", sep="\t", index=False)
    gold = people["provenance"] == Provenance.GOLD
    experts = pd.DataFrame({"series_submitter_id": series[gold]})
    experts.to_csv(target / "expert_series.csv", index=False)


def tabulate_people(people: pd.DataFrame, study: pd.Series) -> dict[str, pd.DataFrame]:
    age = people["age"].astype("Int64").astype("str").where(people["age"].notna(), "")
    over_89 = people["age_over_89"].map({True: "Yes", False: "No"})
    first = ~people["case"].duplicated()
    return {
        "case": pd.DataFrame(
            {
                "type": "case",
                "submitter_id": people["case"],
                "age_at_index": age,
                "age_at_index_gt89": over_89,
                "case_ids": people["case"],
                "ethnicity": people["ethnicity"].replace(ETHNICITIES),
                "race": people["race"].replace(RACES),
                "sex": people["sex"],
                "site_id": SITE,
                "zip": "",
            }
        )[first],
        "imaging_study": pd.DataFrame(
            {
                "type": "imaging_study",
                "submitter_id": study,
                "case_ids": people["case"],
                "age_at_imaging": age,
                "age_at_imaging_gt89": over_89,
            }
        ),
    }


def tabulate_files(
    people: pd.DataFrame, series: pd.Series, release: str
) -> dict[str, pd.DataFrame]:
    scanner = people["manufacturer"].replace({"GE": "GE MEDICAL SYSTEMS"})
    odd = people.index % 2 == 1
    gold = people["provenance"] == Provenance.GOLD
    scans = pd.DataFrame(
        {
            "type": "mr_series",
            "submitter_id": series,
            "imaging_studies.submitter_id": series.str.rpartition(".")[0],
            "case_ids": people["case"],
            "manufacturer": scanner.mask(odd & (scanner == "Siemens"), "SIEMENS"),
            "magnetic_field_strength": people["field_strength_t"],
        }
    )
    files = []
    for mask in ("", "_SEG"):
        drawn = gold & (release == "marked") & bool(mask)
        files.append(
            pd.DataFrame(
                {
                    "type": "annotation_file",
                    "submitter_id": people["name"] + mask,
                    "mr_series_files.submitter_id": series,
                    "case_ids": people["case"],
                    "annotation_method": drawn.map(
                        {True: "Retrospective_expert", False: "Retrospective_auto"}
                    ),
                    "data_format": "NII",
                    "file_name": people["name"] + mask + ".nii.gz",
                }
            )
        )
    return {"mr_series": scans, "annotation_file": pd.concat(files)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("target", type=Path)
    parser.add_argument("--patients", type=int, default=40)
    parser.add_argument("--experts", type=int, default=16)
    parser.add_argument("--exams", type=int, default=None, help="default: two more than patients")
    parser.add_argument("--release", choices=("first", "marked"), default="first")
    parser.add_argument("--shape", type=int, nargs=3, default=None)
    parser.add_argument("--spacing", type=float, nargs=3, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings = Phantom(
        patients=options.patients,
        gold_patients=options.experts,
        exams=options.exams or options.patients + 2,
        seed=options.seed,
    )
    settings.shape = options.shape or settings.shape
    settings.spacing = options.spacing or settings.spacing
    people = make_fixture(options.target, settings, options.release)
    print(f"{len(people)} exams of {people['case'].nunique()} patients below {options.target}")


if __name__ == "__main__":
    main()
