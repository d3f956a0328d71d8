"""Pictures of a risk score by group: the AUC matrix, distributions, ROC curves."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tworulers.auc.audit import RiskAudit
from tworulers.auc.matrix import HALF, AucMatrix
from tworulers.report.render import Picture, take_picture
from tworulers.report.rows import iterate_rows
from tworulers.report.style import GROUP_COLOURS, start_figure, wrap
from tworulers.schema.file_names import name_file
from tworulers.stats.types import FloatArray

DASHES = ("-", "--", "-.", ":")
"""Line styles repeat the colours' message, for print without colour."""

EVENT_NAMES = {1: "events", 0: "non-events"}
SMALLEST_BIN = 5
EVENT_COLOUR = GROUP_COLOURS[5]
MAP = "cividis"
DARK_BELOW = 0.77
"""AUC below which a cell is so dark that its letters are white."""

MOST_PANELS = 12
"""Most groups of which all is drawn; of more the matrix has no numbers, and half as many groups with the lowest AUC and
with the highest have their curves, since nothing else could be read.
"""

LARGEST_SIDE = 12.0
"""Longest side of a figure of a matrix, in inches; more groups make smaller cells."""


def make_figure(
    draws: Sequence[Callable[[Axes], None]],
    *,
    width: float = 5.0,
    height: float = 4.6,
    columns: int = 2,
) -> Figure:
    """Draw panels of the given size in inches on a new figure, `columns` of them in a row."""
    across = min(columns, len(draws))
    down = -(-len(draws) // across)
    figure = start_figure(width * across, height * down)
    panels = np.ravel(figure.subplots(down, across, squeeze=False))
    for axes, draw in zip(panels, draws, strict=False):
        draw(axes)
    for axes in panels[len(draws) :]:
        axes.set_axis_off()
    return figure


def draw_risk(
    audit: RiskAudit, scores: pd.DataFrame, groups: Mapping[str, pd.Series], score_name: str
) -> Iterator[Picture]:
    """Draw every grouping's matrix, distributions and curves.

    Parameters
    ----------
    audit : the audit.
    scores : columns score, outcome (1, 0).
    groups : by grouping, the group of every row.
    score_name : axis label, with its unit.
    """
    for name, group in groups.items():
        matrix, shown = audit.matrices[name], find_extremes(audit.matrices[name])
        own = scores.assign(group=group)
        if len(shown) < len(matrix.groups):
            # Rows of the others count overall.
            own["group"] = pd.Categorical(own["group"], shown, ordered=True)
        side = min(max(5.0, 1.35 * len(matrix.groups)), LARGEST_SIDE)
        cells = audit.cells[audit.cells["grouping"] == name]
        figure = make_figure([partial(draw_matrix, cells)], width=side + 1, height=side)
        yield take_picture(figure, f"{name_file(name)}_matrix", f"AUC matrix by {name}")
        draws = [
            partial(draw_distributions, own, score_name=score_name),
            partial(draw_roc_within, own),
        ]
        if len(audit.calibration):
            table = audit.calibration[audit.calibration["grouping"] == name]
            draws.append(partial(draw_calibration, table[table["group"].isin(shown)]))
        of = (
            f", {len(shown)} of {len(matrix.groups)} groups"
            if len(shown) < len(matrix.groups)
            else ""
        )
        caption = f"score and ROC curves by {name}{of}"
        yield take_picture(make_figure(draws), f"{name_file(name)}_scores", caption)
        if len(matrix.groups) <= MOST_PANELS:
            across = [
                partial(draw_roc_across, own, events_of=label)
                for label, n in zip(matrix.groups, matrix.n_events, strict=True)
                if n > 0
            ]
            caption = f"events of each group of {name} against non-events of every group"
            yield take_picture(make_figure(across), f"{name_file(name)}_roc_across", caption)


def find_extremes(matrix: AucMatrix) -> list[str]:
    """Name the groups whose curves are drawn, in their order: all, or of many those of the lowest and highest AUC."""
    names, within = list(matrix.groups), matrix.within
    if len(names) <= MOST_PANELS:
        return names
    ranked = [int(g) for g in np.argsort(within, kind="stable") if not np.isnan(within[g])]
    if len(ranked) > MOST_PANELS:
        ranked = ranked[: MOST_PANELS // 2] + ranked[-MOST_PANELS // 2 :]
    return [names[g] for g in sorted(ranked)]


def note_panels(audit: RiskAudit) -> list[str]:
    """Say of which groupings not all curves are drawn."""
    return [
        f"{name} has {len(matrix.groups)} groups, more than {MOST_PANELS}: distributions and curves are drawn of the "
        f"{len(find_extremes(matrix))} with the lowest and the highest AUC, and no ROC curves across groups"
        for name, matrix in audit.matrices.items()
        if len(matrix.groups) > MOST_PANELS
    ]


def draw_matrix(cells: pd.DataFrame, axes: Axes) -> None:
    """Draw the AUC matrix as a heat map, each cell with its value, interval and numbers; of many groups colours alone.

    Parameters
    ----------
    cells : one row a cell, as `tabulate_cells` gives it. Undefined cells are hatched and say
        why; cells of few events or non-events carry an asterisk.
    """
    events = list(dict.fromkeys(cells["events_of"]))
    scale = Normalize(HALF, 1.0)
    if len(events) <= MOST_PANELS:
        _draw_cells(cells, events, scale, axes)
        note = "AUC; * few events or non-events; white: undefined"
    else:
        shade = cells["auc"].to_numpy(dtype=float).reshape(len(events), -1)
        axes.imshow(shade, cmap=MAP, norm=scale, interpolation="nearest")
        note = "AUC; white: undefined"
    axes.set(
        xlim=(-0.5, len(events) - 0.5),
        ylim=(len(events) - 0.5, -0.5),
        xticks=range(len(events)),
        yticks=range(len(events)),
        xlabel="non-events of (n after ×)",
        ylabel="events of (n before ×)",
        title="AUC, events of a row against non-events of a column",
    )
    axes.set_xticklabels(events, rotation=30, ha="right")
    axes.set_yticklabels(events)
    axes.set_aspect("equal")
    axes.grid(False)
    if axes.figure is not None:
        shades = ScalarMappable(scale, MAP)
        axes.figure.colorbar(shades, ax=axes, extend="min", shrink=0.8).set_label(
            note, fontsize=8.5
        )


def _draw_cells(cells: pd.DataFrame, events: list[str], scale: Normalize, axes: Axes) -> None:
    colours = colormaps[MAP]
    for cell in iterate_rows(cells):
        x, y = events.index(cell.non_events_of), events.index(cell.events_of)
        if np.isnan(cell.auc):
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", hatch="///",
                                     edgecolor="0.7"))  # fmt: skip
            reasons = [reason.split(" in ")[0] for reason in cell.undefined_because.split("; ")]
            text, ink = "\n".join(["undefined", *reasons]).replace("_", " "), "black"
        else:
            colour = colours(scale(cell.auc))
            axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="white"))
            few = "*" if "few_" in cell.remarks else ""
            between = (
                f"[{cell.low:.3f}, {cell.high:.3f}]" if cell.low == cell.low else "no interval"
            )
            text = f"{cell.auc:.3f}{few}\n{between}\n{cell.n_events} × {cell.n_non_events}"
            ink = "black" if cell.auc > DARK_BELOW else "white"
        axes.text(x, y, text, ha="center", va="center", fontsize=8.5, color=ink)


def draw_distributions(scores: pd.DataFrame, axes: Axes, *, score_name: str) -> None:
    """Draw the score by group and outcome as boxes (quartiles, whiskers 5 % and 95 %) with n.

    Parameters
    ----------
    scores : columns group, outcome (1, 0), score; rows without a group are not drawn.
    score_name : axis label, with its unit.
    """
    known = scores[scores["group"].notna()]
    groups = _groups_of(scores)
    values, labels, fills = [], [], []
    for group in groups:
        for outcome in (1, 0):
            part = known[(known["group"] == group) & (known["outcome"] == outcome)]
            values.append(part["score"].to_numpy())
            labels.append(f"{wrap(group, 32)}\n{EVENT_NAMES[outcome]}, n = {len(part)}")
            fills.append(EVENT_COLOUR if outcome else GROUP_COLOURS[0])
    boxes = axes.boxplot(values, orientation="horizontal", whis=(5, 95), showfliers=False,
                         patch_artist=True, widths=0.6)  # fmt: skip
    for box, fill in zip(boxes["boxes"], fills, strict=True):
        box.set(facecolor=fill, alpha=0.75, hatch="//" if fill == EVENT_COLOUR else "")
    for line in boxes["medians"]:
        line.set(color="black", linewidth=1.5)
    axes.set_yticks(range(1, len(labels) + 1), labels, fontsize=max(5, 9 - len(groups) // 2))
    axes.invert_yaxis()
    axes.set(xlabel=score_name, title="Score by group and outcome")


def draw_roc_within(scores: pd.DataFrame, axes: Axes) -> None:
    """Draw the ROC curve of each group among itself, and of all rows together.

    Parameters
    ----------
    scores : columns group (missing in rows that count overall only), outcome (1, 0), score.
    """
    for k, group in enumerate(_groups_of(scores)):
        own = scores[scores["group"] == group]
        _plot_roc(axes, _side(own, 1), _side(own, 0), group, k)
    events, others = _side(scores, 1), _side(scores, 0)
    axes.plot(*_roc(events, others), color="black", linewidth=2.4, alpha=0.45, zorder=1,
              label=f"overall ({len(events)} × {len(others)})")  # fmt: skip
    _finish_roc(axes, "ROC within groups (events × non-events)")


def draw_roc_across(scores: pd.DataFrame, axes: Axes, *, events_of: str) -> None:
    """Draw the ROC curves of one group's events against the non-events of every group.

    Parameters
    ----------
    scores : columns group, outcome (1, 0), score.
    events_of : the group whose events are shown; its own curve is the thick one.
    """
    events = _side(scores[scores["group"] == events_of], 1)
    for k, group in enumerate(_groups_of(scores)):
        others = _side(scores[scores["group"] == group], 0)
        _plot_roc(axes, events, others, group, k, width=2.6 if group == events_of else 1.3)
    _finish_roc(axes, f"Events of {events_of} against non-events of each")


def draw_calibration(bins: pd.DataFrame, axes: Axes) -> None:
    """Draw observed against expected event rates by group and bin, with Wilson intervals.

    Parameters
    ----------
    bins : as `tabulate_calibration` gives it; the rows of whole groups supply n.
    """
    own = bins[(bins["bin"] != "all") & (bins["n"] >= SMALLEST_BIN)]
    whole = bins[bins["bin"] == "all"].set_index("group")
    top = float(np.nanmax(own[["expected", "observed"]].to_numpy(), initial=0.0)) * 1.05 or 1.0
    for k, group in enumerate(dict.fromkeys(bins["group"])):
        part = own[own["group"] == group]
        if part.empty:
            continue
        error = np.abs(part[["low", "high"]].to_numpy().T - part["observed"].to_numpy())
        count, events = whole.loc[group, ["n", "n_events"]]
        axes.errorbar(part["expected"], part["observed"], yerr=error, fmt="o", markersize=4,
                      linewidth=1, elinewidth=0.7, color=GROUP_COLOURS[k % len(GROUP_COLOURS)],
                      linestyle=DASHES[k % len(DASHES)],
                      label=f"{wrap(group, 48)} (n = {count}, {events} events)")  # fmt: skip
    axes.plot([0, top], [0, top], color="0.7", linewidth=0.8)
    axes.set(
        xlabel="expected: mean predicted probability of the bin",
        ylabel=f"observed event rate (bins of {SMALLEST_BIN} rows or more)",
        title="Calibration by group",
        xlim=(0, top),
        ylim=(0, min(1.0, top * 1.3)),
    )
    _legend_below(axes)


def _groups_of(scores: pd.DataFrame) -> list[str]:
    """Groups in the order of their categories, or by name."""
    column = scores["group"]
    if isinstance(column.dtype, pd.CategoricalDtype):
        return [str(name) for name in column.cat.categories]
    return sorted(column.dropna().unique())


def _side(scores: pd.DataFrame, outcome: int) -> FloatArray:
    return scores.loc[scores["outcome"] == outcome, "score"].to_numpy(dtype=np.float64)


def _plot_roc(
    axes: Axes,
    events: FloatArray,
    others: FloatArray,
    group: str,
    k: int,
    width: float = 1.5,
) -> None:
    label = f"{wrap(group, 48)} ({len(events)} × {len(others)})"
    if len(events) == 0 or len(others) == 0:
        axes.plot([], [], color="0.6", label=f"{label}: undefined")
        return
    axes.plot(*_roc(events, others), color=GROUP_COLOURS[k % len(GROUP_COLOURS)], linewidth=width,
              linestyle=DASHES[k % len(DASHES)], label=label)  # fmt: skip


def _finish_roc(axes: Axes, title: str) -> None:
    axes.plot([0, 1], [0, 1], color="0.8", linewidth=0.8, zorder=0)
    axes.set(
        xlabel="share of non-events above the threshold",
        ylabel="share of events above the threshold",
        title=title,
        xlim=(0, 1),
        ylim=(0, 1.005),
    )
    _legend_below(axes)


def _legend_below(axes: Axes) -> None:
    axes.legend(
        fontsize=8.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2
    )


def _roc(events: FloatArray, others: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Shares of non-events and of events at or above each score, from the highest down."""
    cuts = np.unique(np.concatenate([events, others]))[::-1]
    if cuts.size > 2000:
        cuts = cuts[np.unique(np.linspace(0, cuts.size - 1, 2000).astype(int))]

    def share(values: FloatArray) -> FloatArray:
        ordered = np.sort(values)
        above = values.size - np.searchsorted(ordered, cuts, side="left")
        return np.concatenate([[0.0], above / max(values.size, 1)])

    return share(others), share(events)
