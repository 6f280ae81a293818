"""The EXPRIL study: Table 2 and Figure 1 from raw runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pandas as pd

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from studies.expril import tables as expril_tables
from studies.expril.plots import draw_curves
from studies.expril.problems import PROBLEMS
from studies.expril.runs import DELTA, EPSILON, METHODS, Learning
from studies.results import Cell, save, summary, write_csv
from studies.runs import RunStore, complete

FOLDER = Path("expril")
FIGURE, TABLE = 1, 2


def reproduce_expril(
    *,
    figure: int | None = None,
    table: int | None = None,
    dataset: str | None = None,
    runs: int = 100,
    folder: Path = FOLDER,
    resume: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> str:
    """Reproduce Table 2 and Figure 1 of EXPRIL: measure, and write raw runs, means, tables and plots to a folder.

    Both are computed from the same runs. Every problem has a folder of its own, such as ``CTG-A``: raw runs in
    ``runs.csv``, their settings in ``settings.json``, means by method and iteration in ``CTG-A.csv``. ``table-2.md``
    and ``figure-1.png`` contain all problems in the folder. Problems are drawn anew for every run, and so is the noise,
    both seeded by its number: results are reproducible, whatever `n_jobs` is. The models have no privacy.

    Parameters
    ----------
    figure : {1}, optional
        Only the figure. None, without a table either: both.
    table : {2}, optional
        Only the table.
    dataset : {"A", "B", "C", "D", "E", "CTG-A", "CTG-B"}, optional
        The problem. None: all.
    runs : int, default=100
        The number of runs.
    folder : Path
        The output folder.
    resume : bool, default=False
        Whether to resume an existing study: complete runs are kept, others done.
    n_jobs : int, optional
        The number of processes, as in scikit-learn.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    str
        The tables, in Markdown; for a figure alone, nothing.

    Raises
    ------
    ValueError
        If there is no such figure, table or problem, or a folder exists and `resume` is False, or it holds something
        else or runs of other settings. Nothing is done then.
    FileNotFoundError
        If the cardiotocography data is needed and not found.

    References
    ----------
    Lacombe, Jetley and Sebag (EXPRIL), *EXtremely PRIvate supervised Learning*, 2021, Section 4.
    """
    _check(figure, table, dataset)
    check_integer("runs", runs, 1)
    names = list(PROBLEMS) if dataset is None else [dataset]
    stores = {name: store(folder, name) for name in names}
    for item in stores.values():
        item.check(resume=resume)
    for name, item in stores.items():
        result = complete(item, Learning(name), runs, resume=resume, n_jobs=n_jobs, verbose=verbose)
        write_csv(pd.DataFrame(summary(result)), item.folder / f"{name}.csv")
    if table is None:
        save(draw_curves(_means(folder)), folder / f"figure-{FIGURE}")
    return write_table(folder, runs) if figure is None else ""


def store(folder: Path, name: str) -> RunStore:
    """Return the store of the runs of a problem."""
    setting = PROBLEMS[name]
    settings: dict[str, Any] = {"study": "expril", "problem": name, "n_target": setting.n_target}
    settings |= {"reweight": setting.reweight, "hidden": setting.hidden, "epsilon": EPSILON, "delta": DELTA}
    settings["methods"] = {method: asdict(how) for method, how in METHODS.items()}
    return RunStore(folder / name, settings)


def write_table(folder: Path, runs: int) -> str:
    """Write the tables of all problems in a folder to ``table-2.md``, and return them."""
    cells = _means(folder)
    raw = [store(folder, name).read(runs).assign(dataset=name) for name in PROBLEMS if _file(folder, name).is_file()]
    parts = (
        ("Table 2: test accuracy in per cent, mean ± standard deviation", expril_tables.paper_table(cells)),
        (
            "Above the paper's, in points, and in standard errors of the difference",
            expril_tables.difference_table(cells),
        ),
        ("The same target, asked otherwise (ε = 1 but for the last)", expril_tables.our_table(cells)),
        ("C against I, Wilcoxon's signed-rank test", expril_tables.signed_rank_table(pd.concat(raw))),
    )
    text = "\n".join(f"## {title}\n\n{table}\n" for title, table in parts)
    (folder / f"table-{TABLE}.md").write_text(text, encoding="utf-8")
    return text


def _means(folder: Path) -> Sequence[Cell]:
    return [
        cast(Cell, {"dataset": name, **cell})
        for name in PROBLEMS
        if _file(folder, name).is_file()
        for cell in pd.read_csv(_file(folder, name)).to_dict("records")
    ]


def _file(folder: Path, name: str) -> Path:
    return folder / name / f"{name}.csv"


def _check(figure: int | None, table: int | None, dataset: str | None) -> None:
    if figure is not None and table is not None:
        raise ArgumentError("give a figure or a table, not both.")
    if figure not in (None, FIGURE):
        raise ArgumentError(f"figure must be {FIGURE}, got {figure!r}.")
    if table not in (None, TABLE):
        raise ArgumentError(f"table must be {TABLE}, got {table!r}.")
    if dataset is not None and dataset not in PROBLEMS:
        raise ArgumentError(f"dataset must be one of {', '.join(PROBLEMS)}, got {dataset!r}.")
