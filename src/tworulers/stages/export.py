"""A regime's trained networks as files of another tool: nnU-Net's folder of results, or a MONAI bundle."""

from pathlib import Path

from tworulers.io.paths import Layout
from tworulers.progress import say
from tworulers.runner.run import run_stage
from tworulers.schema.settings import Settings
from tworulers.training.exported import export_regime

FORMS = ("nnunet", "monai")


def export(settings: Settings, layout: Layout) -> None:
    """Write the regime's networks to `export.folder`.

    Raises
    ------
    ValueError : no folder is named, or the form is unknown.
    """
    if not settings.export.folder:
        raise ValueError(
            "export.folder is not set; name the folder that nnU-Net calls nnUNet_results, or the bundle to make"
        )
    if settings.export.form not in FORMS:
        raise ValueError(
            f"export.form is {settings.export.form!r}; expected one of {', '.join(FORMS)}"
        )
    folder = Path(settings.export.folder).expanduser()
    if settings.export.form == "monai":
        from tworulers.monai.bundle import write_bundle

        say(
            f"{write_bundle(settings, layout, folder)} is a bundle of MONAI; its docs/README.md says how it is run"
        )
        return
    for written in export_regime(settings, layout, folder):
        say(f"{written} is a trained model of nnU-Net")
    say(f"predict with it: nnUNet_results={folder.absolute()} nnUNetv2_predict ...")


if __name__ == "__main__":
    run_stage(export)
