"""What differs between groups before any model looks: the size of the structures."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tworulers.report.style import GROUP_COLOURS, start_figure, with_counts, wrap

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
            draw_volume(ax, volume, series.reindex(volume.index))
            ax.set_xlabel(wrap(titles.get(grouping, grouping), 9 * len(series.cat.categories) + 8))
            ax.set_ylabel("")
        row[0].set_ylabel(f"volume of {structure} (cm³)")
    figure.suptitle(f"Volumes measured in {ruler}", x=0.01, ha="left", fontsize=10.5)
    return figure


def draw_volume(ax: Axes, volume: pd.Series, groups: pd.Series) -> None:
    """Draw a volume (indexed like `groups`) as a box a group, every exam a point."""
    names = [str(name) for name in groups.cat.categories]
    frame = pd.DataFrame({"group": groups.astype(str), "volume": volume})[groups.notna()]
    palette = [GROUP_COLOURS[place % len(GROUP_COLOURS)] for place in range(len(names))]
    sns.boxplot(
        frame, x="group", y="volume", order=names, hue="group", hue_order=names, palette=palette,
        width=0.6, showfliers=False, linewidth=1, boxprops={"alpha": 0.35}, legend=False, ax=ax,
    )  # fmt: skip
    for place, name in enumerate(names):
        exams = np.sort(frame.loc[frame["group"] == name, "volume"].to_numpy(float))
        offsets = 0.2 * np.sin(2.399963 * np.arange(exams.size))
        size = 9 if exams.size < 150 else 3
        ax.scatter(place + offsets, exams, s=size, color=palette[place], alpha=0.6, linewidths=0)
    counts = {str(name): int(n) for name, n in frame["group"].value_counts().items()}
    ax.set_xticks(range(len(names)), with_counts(names, counts), fontsize=8.5)
    ax.grid(visible=False, axis="x")
