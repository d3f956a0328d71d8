"""The synthetic cohort has the published counts and scales to any size.

Source of the counts: Juni, Feragen and Parikh 2026, Table 1: 1,254 exams without the localizer.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tworulers.phantom.people import draw_people, is_localizer
from tworulers.schema.phantom_settings import Phantom
from tworulers.schema.table_models import Cohort
from tworulers.schema.tables import parse_axes

TABLE_1 = {
    "sex": {"Female": 683, "Male": 571},
    "race": {
        "White": 809,
        "Black or African American": 349,
        "Not Reported": 33,
        "Other": 28,
        "Asian": 25,
        "American Indian or Alaska Native": 9,
        "Native Hawaiian or other Pacific Islander": 1,
    },
    "ethnicity": {
        "Not Hispanic or Latino": 1162,
        "Hispanic or Latino": 59,
        "Not Reported": 33,
    },
    "manufacturer": {"Siemens": 788, "GE": 466},
    "field_strength_t": {1.5: 746, 3.0: 508},
    "provenance": {"gold": 491, "silver": 763},
}


def without_localizers(exams, usual):
    return exams[[not is_localizer(parse_axes(cell), usual) for cell in exams["shape"]]]


@pytest.fixture(scope="module", params=[0, 7])
def exams(request):
    return draw_people(Phantom(seed=request.param))


@pytest.fixture
def usual(exams):
    return without_localizers(exams, 10)


@pytest.mark.parametrize("column", TABLE_1)
def test_the_default_cohort_has_the_counts_of_table_1(usual, column):
    assert usual[column].value_counts().to_dict() == TABLE_1[column]


def test_the_default_cohort_has_the_published_patients_and_one_localizer(exams, usual):
    assert (len(exams), exams["patient_id"].nunique()) == (1255, 1232)
    assert (len(usual), usual["patient_id"].nunique()) == (1254, 1231)
    gold = usual[usual["provenance"] == "gold"]
    assert gold["patient_id"].nunique() == 481
    localizer = exams[~exams["exam_id"].isin(usual["exam_id"])].iloc[0]
    assert localizer["shape"] == "56x120x72"
    assert localizer["manufacturer"] == "Siemens"
    assert localizer["provenance"] == "silver"


def test_the_default_patients_have_the_counts_of_the_case_table(exams):
    patients = exams.drop_duplicates("patient_id")
    assert patients["sex"].value_counts().to_dict() == {"Female": 675, "Male": 557}
    assert patients["race"].value_counts().iloc[:3].to_dict() == {
        "White": 795,
        "Black or African American": 342,
        "Not Reported": 33,
    }
    assert patients["ethnicity"].value_counts().to_dict() == {
        "Not Hispanic or Latino": 1141,
        "Hispanic or Latino": 58,
        "Not Reported": 33,
    }


def test_the_default_ages_are_the_published_ones(usual):
    age = usual["age"]
    over = usual["age_over_89"]
    assert (age < 40).sum() == 241
    assert ((age >= 40) & (age < 60)).sum() == 486
    assert ((age >= 60) | over).sum() == 527
    assert over.sum() == 13
    assert usual.loc[over, "patient_id"].nunique() == 12
    assert age.isna().equals(over)
    assert age.mean() == pytest.approx(54.6, abs=0.1)
    assert age.std() == pytest.approx(16.3, abs=0.1)
    assert (age.median(), age.min(), age.max()) == (56, 18, 89)


def test_traits_are_not_tied_to_each_other(usual):
    white = usual[usual["race"] == "White"]
    black = usual[usual["race"] == "Black or African American"]
    share = [(part["sex"] == "Female").mean() for part in (white, black)]
    assert share[0] == pytest.approx(share[1], abs=0.12)
    assert white["age"].mean() == pytest.approx(black["age"].mean(), abs=4)
    gold = usual.groupby("provenance")
    assert np.ptp(gold["age"].mean()) < 3
    assert np.ptp((usual["sex"] == "Male").groupby(usual["provenance"]).mean()) < 0.05


def test_the_second_exam_of_a_patient_shares_the_patient_and_not_the_exam(usual):
    twice = usual[usual["patient_id"].duplicated(keep=False)]
    assert len(twice) == 46
    of_patient = twice.groupby("patient_id")
    for column in ("sex", "race", "ethnicity", "age_over_89", "provenance"):
        assert (of_patient[column].nunique() == 1).all(), column
    assert (of_patient["age"].nunique() <= 1).all()
    assert twice["exam_id"].is_unique
    assert of_patient["manufacturer"].nunique().max() == 2


def test_identifiers_are_text_with_leading_zeros_in_the_style_of_a_download(exams):
    assert exams["patient_id"].iloc[0] == "000001"
    pattern = r"\d{6}_Study-MR-[12]_Series-\d+"
    assert exams["exam_id"].str.fullmatch(pattern).all()
    assert (exams["exam_id"].str[:6] == exams["patient_id"]).all()


def test_the_seed_decides_everything():
    assert draw_people(Phantom(seed=3)).equals(draw_people(Phantom(seed=3)))
    assert not draw_people(Phantom(seed=3)).equals(draw_people(Phantom(seed=4)))


@st.composite
def phantoms(draw):
    patients = draw(st.integers(3, 60))
    return Phantom(
        patients=patients,
        gold_patients=draw(st.integers(1, patients - 2)),
        exams=draw(st.integers(patients, 2 * patients - 1)),
        shape=[draw(st.integers(4, 20)), 32, 32],
        seed=draw(st.integers(0, 10**6)),
    )


@given(phantoms())
@settings(max_examples=40, deadline=None)
def test_any_size_gives_a_cohort_with_both_sexes_and_both_provenances(phantom):
    exams = draw_people(phantom)
    Cohort.validate(exams.assign(image="i.nii.gz", label=None))
    assert len(exams) == phantom.exams
    assert exams["patient_id"].nunique() == phantom.patients
    usual = without_localizers(exams, phantom.shape[0])
    assert len(usual) == phantom.exams - 1
    gold = usual[usual["provenance"] == "gold"]
    assert gold["patient_id"].nunique() == phantom.gold_patients
    assert set(usual["provenance"]) == {"gold", "silver"}
    assert set(usual["sex"]) == {"Female", "Male"}
    women = (usual["sex"] == "Female").mean()
    assert abs(women - 683 / 1254) * len(usual) <= 2


def test_impossible_numbers_are_listed_in_one_message():
    with pytest.raises(ValueError, match="cannot be drawn") as caught:
        draw_people(Phantom(patients=5, gold_patients=5, exams=11, shape=[3, 3], spacing=[1, 0, 1]))
    message = str(caught.value)
    for part in ("gold_patients is 5", "exams is 11", "shape is [3, 3]", "spacing is [1, 0, 1]"):
        assert part in message
