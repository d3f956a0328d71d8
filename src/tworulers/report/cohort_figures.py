"""What differs between groups before any model looks: the size of the structures."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.figure import Figure

from tworulers.report.ruler_figures import draw_groups
from tworulers.report.style import start_figure, wrap

CUBIC_CENTIMETRE = 1000.0


def draw_volumes(
    volumes: pd.DataFrame, groups: Mapping[str, pd.Series], *, titles: Mapping[str, str], ruler: str
) -> Figure:
    """Draw the reference volume of every structure by the groups of each grouping.

    Parameters
    ----------
    volumes : `exam_id`, `structure` and `volume_mm3`.
    groups : a categorical by exam_id for each grouping to show, in order.
    titles : title of each grouping.
    ruler : who drew the labels that were measured, with provenance.
    """
    structures = list(dict.fromkeys(volumes["structure"]))
    widths = [max(2, len(series.cat.categories)) for series in groups.values()]
    figure = start_figure(0.95 * sum(widths) + 1.4, 2.7 * len(structures) + 0.7)
    axes = figure.subplots(
        len(structures),
        len(groups),
        sharey="row",
        squeeze=False,
        gridspec_kw={"width_ratios": widths},
    )
    for row, structure in zip(axes, structures, strict=True):
        part = volumes[volumes["structure"] == structure].set_index("exam_id")
        volume = part["volume_mm3"].astype(float) / CUBIC_CENTIMETRE
        for ax, (grouping, series) in zip(row, groups.items(), strict=True):
            exams = pd.DataFrame({"group": series.reindex(volume.index), "value": volume})
            draw_groups(ax, exams[exams.notna().all(axis=1)])
            ax.set_xlabel(wrap(titles.get(grouping, grouping), 9 * len(series.cat.categories) + 8))
            ax.set_ylabel("")
        row[0].set_ylabel(f"volume of {structure} (cm³)")
    figure.suptitle(f"Volumes measured in {ruler}", x=0.01, ha="left", fontsize=10.5)
    return figure
