"""What happens to a good table on its way through people and programs, and the tables that it happens to."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

EXAMS = 24
Draw = np.random.Generator


def make_scores() -> pd.DataFrame:
    """Make a wide table of scores that describes its exams, as text; one name of a site is not ASCII."""
    rng = np.random.default_rng(7)
    return pd.DataFrame(
        {
            "exam_id": [f"{n:03d}" for n in range(1, EXAMS + 1)],
            "sex": np.tile(["Female", "Male"], EXAMS // 2),
            "age": [str(age) for age in 30 + 2 * np.arange(EXAMS)],
            "site": np.tile(["Köln", "Bonn", "Ulm"], EXAMS // 3),
            "dice_vb": [f"{value:.4f}" for value in rng.uniform(0.6, 0.95, EXAMS)],
            "dice_disc": [f"{value:.4f}" for value in rng.uniform(0.5, 0.9, EXAMS)],
        }
    )


def make_risks() -> pd.DataFrame:
    """Make a table of risk scores and outcomes, as text."""
    rng = np.random.default_rng(8)
    table = make_scores()[["exam_id", "sex", "site"]].rename(columns={"exam_id": "pid"})
    risk = rng.uniform(0, 1, EXAMS)
    died = np.where(risk + rng.normal(0, 0.3, EXAMS) > 0.5, "yes", "no")
    return table.assign(risk=[f"{value:.4f}" for value in risk], died=died)


def write(table: pd.DataFrame, **how: object) -> str:
    """Write a table as text: `delimiter`, `end` of lines, `quote` all cells or only those that ask for it."""
    stream = io.StringIO()
    writer = csv.writer(
        stream,
        delimiter=str(how.get("delimiter", ",")),
        lineterminator=str(how.get("end", "\n")),
        quoting=csv.QUOTE_ALL if how.get("quote") else csv.QUOTE_MINIMAL,
    )
    writer.writerow(table.columns)
    writer.writerows(table.itertuples(index=False, name=None))
    return stream.getvalue()


def cut_anywhere(table: pd.DataFrame, rng: Draw) -> bytes:
    content = write(table).encode()
    return content[: rng.integers(len(content))]


def cut_rows(table: pd.DataFrame, rng: Draw) -> bytes:
    return write(table.head(rng.integers(0, len(table)))).encode()


def double_rows(table: pd.DataFrame, rng: Draw) -> bytes:
    chosen = rng.integers(0, len(table), rng.integers(1, 4))
    return write(pd.concat([table, table.iloc[chosen]])).encode()


def double_all(table: pd.DataFrame, rng: Draw) -> bytes:
    text = write(table)
    return (text + text if rng.random() < 0.5 else text + text.split("\n", 1)[1]).encode()


def double_column(table: pd.DataFrame, rng: Draw) -> bytes:
    name = str(rng.choice(table.columns))
    other = table[name].sample(frac=1, random_state=int(rng.integers(1 << 31))).to_numpy()
    called = str(rng.choice([name, name.upper(), f" {name} ", f"{name}.1"]))
    place = int(rng.integers(0, table.shape[1] + 1))
    twice = table.copy()
    twice.insert(place, called, other, allow_duplicates=True)
    return write(twice).encode()


def encode(table: pd.DataFrame, rng: Draw) -> bytes:
    codec = str(
        rng.choice(["cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8-sig", "mac-roman", "cp437"])
    )
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    text = write(table, delimiter=delimiter, end=end, quote=rng.random() < 0.3)
    return text.encode(codec)


def retype(table: pd.DataFrame, rng: Draw) -> bytes:
    """Write the numbers of one column or of all as another program does."""
    table, delimiter = table.copy(), ","
    numbers = [name for name in table if name in ("dice_vb", "dice_disc", "risk")]
    ways: dict[str, Callable[[str], str]] = {
        "comma": lambda cell: cell.replace(".", ","),
        "percent": lambda cell: f"{100 * float(cell):.2f}",
        "signed": lambda cell: f"{100 * float(cell):.2f}%",
        "scientific": lambda cell: f"{float(cell):.3e}",
        "short": lambda cell: cell.lstrip("0"),
        "blank": lambda cell: f" {cell} ",
        "fraction": lambda cell: f"{float(cell):.4f}/1",
        "minus": lambda cell: f"-{cell}",
        "millis": lambda cell: f"{int(1000 * float(cell)):,}",
    }
    way = str(rng.choice(list(ways)))
    delimiter = str(rng.choice([",", ";"]))
    for name in numbers if rng.random() < 0.5 else numbers[:1]:
        rows = rng.random(len(table)) < rng.choice([0.1, 1.0])
        table.loc[rows, name] = table.loc[rows, name].map(ways[way])
    return write(table, delimiter=delimiter).encode()


def rename(table: pd.DataFrame, rng: Draw) -> bytes:
    name = str(rng.choice(table.columns))
    called = str(
        rng.choice(
            [name.upper(), name.title(), f" {name}", name.replace("_", " "), f"my_{name}", "", f"{name}\u00a0",
             str(rng.choice(table.columns)), "a/b", "\u202e" + name]
        )
    )  # fmt: skip
    return write(table.rename(columns={name: called})).encode()


def lose_zeros(table: pd.DataFrame, rng: Draw) -> bytes:
    key = table.columns[0]
    rows = rng.random(len(table)) < rng.choice([0.2, 1.0])
    ids = table[key].where(~rows, table[key].str.lstrip("0"))
    return write(table.assign(**{key: ids})).encode()


def empty_cells(table: pd.DataFrame, rng: Draw) -> bytes:
    table = table.copy()
    code = str(rng.choice(["", "NA", "n/a", "-", "-9", "#N/A", "none", "unknown", "."]))
    for _ in range(rng.integers(1, 5)):
        table.iloc[rng.integers(len(table)), rng.integers(table.shape[1])] = code
    return write(table).encode()


def make_ragged(table: pd.DataFrame, rng: Draw) -> bytes:
    lines = write(table).split("\n")
    for place in rng.integers(1, len(lines) - 1, rng.integers(1, 4)):
        line = lines[place]
        lines[place] = line + ",x" if rng.random() < 0.5 else line.rpartition(",")[0]
    return "\n".join(lines).encode()


def break_quotes(table: pd.DataFrame, rng: Draw) -> bytes:
    text = write(table, quote=True)
    places = [place for place, sign in enumerate(text) if sign == '"']
    for place in sorted(rng.choice(places, rng.integers(1, 3), replace=False), reverse=True):
        text = text[:place] + text[place + 1 :]
    return text.encode()


def add_lines(table: pd.DataFrame, rng: Draw) -> bytes:
    lines = write(table).split("\n")
    extra = str(rng.choice(["", ",,,,,", "# made by me", "sep=,", "total,,,,,", "\ufeff"]))
    lines.insert(int(rng.integers(0, len(lines))), extra)
    return "\n".join(lines).encode()


def shuffle(table: pd.DataFrame, rng: Draw) -> bytes:
    rows, columns = rng.permutation(len(table)), rng.permutation(table.shape[1])
    return write(table.iloc[rows, columns]).encode()


def misspell(table: pd.DataFrame, rng: Draw) -> bytes:
    table = table.copy()
    for place in rng.integers(0, len(table), rng.integers(1, 8)):
        sex = table.at[place, "sex"]
        table.at[place, "sex"] = str(
            rng.choice(
                [sex.upper(), f"{sex}\u00a0", f" {sex}", sex[0], "weiblich", "1", f"{sex}\u200b"]
            )
        )
    return write(table).encode()


def store(table: pd.DataFrame, rng: Draw, folder: Path) -> Path:
    """Keep a table as a workbook or as Parquet, with or without an index, typed or as text."""
    typed = table.assign(**{
        name: table[name].astype(float) for name in table if name in ("dice_vb", "dice_disc", "risk", "age")
    })  # fmt: skip
    table = typed if rng.random() < 0.5 else table
    way = rng.integers(4)
    if way == 0:
        path = folder / "table.xlsx"
        table.to_excel(path, index=bool(rng.random() < 0.3))
        return path
    path = folder / "table.parquet"
    key = table.columns[0]
    table = table.set_index(key) if way == 1 else table
    table = table.set_index(key).rename_axis(None) if way == 2 else table
    table.to_parquet(path)
    return path


CHANGES: list[Callable[[pd.DataFrame, Draw], bytes]] = [
    cut_anywhere, cut_anywhere, cut_rows, double_rows, double_all, double_column, encode, encode, retype, retype,
    rename, rename, lose_zeros, empty_cells, make_ragged, break_quotes, add_lines, shuffle, misspell,
]  # fmt: skip
"""The changes that are drawn from; some stand there twice."""


def change(table: pd.DataFrame, rng: Draw, folder: Path) -> tuple[Path, str]:
    """Write a table with one change, and say which."""
    if rng.random() < 0.08:
        return store(table, rng, folder), "store"
    made = CHANGES[rng.integers(len(CHANGES))]
    path = folder / "table.csv"
    path.write_bytes(made(table, rng))
    return path, made.__name__
