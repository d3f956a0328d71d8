"""What a regime's networks say about every test exam: label maps, and how sure they are."""

from pathlib import Path

from tworulers.cohort.folds import list_tested
from tworulers.io.exam_files import locate_images
from tworulers.io.inferences import write_inference
from tworulers.io.paths import Layout
from tworulers.io.records import read_json
from tworulers.io.results import read_cohort, read_splits
from tworulers.io.resume import Stamp, resumable_folder
from tworulers.progress import say
from tworulers.recipe.clean import CleanUp
from tworulers.recipe.inference import tell_inference
from tworulers.runner.graph.code import digest_making
from tworulers.runner.run import run_stage
from tworulers.runner.tracking import RunRecord
from tworulers.schema.settings import Settings
from tworulers.training.ensemble import (
    Ensemble,
    choose_weights,
    gather_ensemble,
    list_inputs,
    predict_labels,
)
from tworulers.training.imported import gather_imported, is_bundle, list_imported_inputs
from tworulers.training.maps import Maps


def predict(settings: Settings, layout: Layout) -> tuple[Path, RunRecord]:
    """Predict all test exams with the selected configurations, or with models made elsewhere; a killed run goes on."""
    regime = settings.regime.name
    located = locate_images(layout, read_cohort(layout))
    images = {exam: located[exam] for exam in list_tested(read_splits(layout))}
    ensemble, made_from = choose_networks(settings, layout, images)
    made_from["code"] = digest_making("tworulers.training.ensemble", type(ensemble).__module__)
    result, scratch = layout.results.predictions(regime), layout.scratch("predict", regime)
    maps = Maps(tuple(settings.inference.maps), settings.dataset.structures)
    told = tell_inference(settings.inference)
    with resumable_folder(result, scratch, made_from) as folder:
        confidence = predict_labels(
            ensemble, images, folder, settings.processes, f"predicting with {regime}", maps
        )
        write_inference(told, folder)
    names, members = ensemble.configurations, ensemble.members
    by = f"{members} networks of {regime}{f' ({told})' if told else ''}"
    say(f"{len(images)} test exams predicted by {by}")
    means = confidence.drop(columns=["exam_id", "undefined_because"]).mean()
    return result, RunRecord(
        "predict",
        f"predict · {regime}",
        f"All test exams by {' + '.join(names)} ({members} networks) of {regime}{f', {told}' if told else ''}.",
        {"regime": regime, **({"inference": told} if told else {})},
        metrics={
            "exams": float(len(images)),
            **{f"confidence/{name}": float(value) for name, value in means.items()},
        },
        sibling_tag="regime",
    )


def choose_networks(
    settings: Settings, layout: Layout, images: dict[str, Path]
) -> tuple[Ensemble, Stamp]:
    """Choose the networks that a regime predicts with, and list all that decides what they say."""
    if any(map(is_bundle, settings.regime.models)):
        from tworulers.monai.taken import gather_bundle, list_bundle_inputs

        bundle = gather_bundle(settings)
        return bundle, list_bundle_inputs(bundle, images, settings, layout)
    if settings.regime.models:
        imported = gather_imported(settings)
        return imported, list_imported_inputs(imported, images, settings, layout)
    regime = settings.regime.name
    choice = read_json(layout.choice(regime), "select")
    cleanup = CleanUp(tuple(map(tuple, choice["cleanup"])), choice["cleanup_reason"])
    weights = choose_weights(settings.regime.checkpoint)
    trained = gather_ensemble(settings, layout, regime, choice["members"], cleanup, weights)
    return trained, list_inputs(trained, images, settings, layout)


if __name__ == "__main__":
    run_stage(predict)
