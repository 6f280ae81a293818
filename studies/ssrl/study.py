"""The SSRL study: Figures 1, 2, 3, 4 and 6 and Table 1 from raw runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import pandas as pd

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from studies.results import Cell, save, summary, write_csv
from studies.runs import RunStore, complete
from studies.ssrl import plots as smooth_plots
from studies.ssrl import tables as smooth_tables
from studies.ssrl.figures import AMPLITUDES_CAPTION, ARTIFACTS, FIGURE_1, amplitudes, chosen
from studies.ssrl.runs import CONFIDENCE, DATASETS, MAX_RULES, TEST_SHARE

TABLES = "tables.md"
FOLDER = Path("ssrl")


def reproduce_ssrl(
    *,
    figure: int | None = None,
    table: int | None = None,
    dataset: str | None = None,
    runs: int = 100,
    epsilons: Sequence[float] | None = None,
    folder: Path = FOLDER,
    resume: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> str:
    """Reproduce figures and tables of SSRL: measure, and write raw runs, means, plots and tables to a folder.

    Every figure of a dataset has a folder of its own, such as ``figure-3-compas``: raw runs in ``runs.csv``, their
    settings in ``settings.json``, means in ``figure-3-compas.csv``, plots beside them. ``tables.md`` has the tables of
    all results in the folder, with the paper's numbers. Splits are seeded by the number of the run and noise by split,
    method and ε, so that results are reproducible, whatever `n_jobs` is. Models have no privacy.

    Parameters
    ----------
    figure : {1, 2, 3, 4, 6}, optional
        The figure. None, without a table either: all.
    table : {1}, optional
        The table.
    dataset : {"adult", "compas", "german"}, optional
        The dataset. None: all datasets of the figure.
    runs : int, default=100
        The number of random splits.
    epsilons : sequence of float, optional
        Other values of ε than the figure's own; Table 1 and Figure 6 use one.
    folder : Path
        The output folder.
    resume : bool, default=False
        Whether to resume an existing study: complete runs are kept, others done. With more `runs` than before, the new
        ones are added.
    n_jobs : int, optional
        The number of processes, as in scikit-learn.
    verbose : bool, default=False
        Whether to show progress on stderr.

    Returns
    -------
    str
        The tables, in Markdown.

    Raises
    ------
    ValueError
        If there is no such figure, table or dataset, `runs` is below 1, or a folder exists and `resume` is False.

    References
    ----------
    Ly et al. (SSRL), *Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists*, Section 5 and
    Appendix C.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as home:
    ...     tables = reproduce_ssrl(figure=1, folder=Path(home) / "study")
    ...     sorted(path.name for path in (Path(home) / "study" / "figure-1").iterdir())
    ['figure-1.csv', 'figure-1.png', 'figure-1.svg']
    """
    check_integer("runs", runs, 1)
    wanted = [(name, d) for name, own in chosen(figure, table, dataset) for d in own or (None,)]
    values = {name: _epsilons(name, epsilons) for name, d in wanted if d is not None}
    stores = {(name, d): _store(folder, name, d, values[name]) for name, d in wanted if d is not None}
    for store in stores.values():
        store.check(resume=resume)
    if any(name == FIGURE_1 for name, _ in wanted):
        _make_figure_1(folder / FIGURE_1, resume=resume)
    for (name, d), store in stores.items():
        measure = ARTIFACTS[name].measure(d, values[name])
        complete(store, measure, runs, resume=resume, n_jobs=n_jobs, verbose=verbose)
        draw(store.folder, name, d, runs)
    return write_tables(folder)


def draw(folder: Path, name: str, dataset: str, runs: int) -> None:
    """Write the means and plots of a figure, computed from its raw runs alone."""
    store = RunStore(folder, {})
    records = store.read(runs)
    records.insert(0, "dataset", dataset)
    cells = summary(records)
    write_csv(pd.DataFrame(cells), folder / f"{folder.name}.csv")
    artifact = ARTIFACTS[name]
    if artifact.draw is not None:
        figure = artifact.draw(cells, artifact.caption(dataset, min(cell["runs"] for cell in cells)))
        save(figure, folder / folder.name)


def write_tables(folder: Path) -> str:
    """Write the tables of all figures in a folder to ``tables.md``, and return them."""
    parts: list[str] = []
    for name, title, show in (
        ("table-1", "Table 1, the paper's numbers beside ours", smooth_tables.table_1),
        ("figure-3", _NEEDED, smooth_tables.needed_table),
        ("figure-3", "Figure 3 in numbers", smooth_tables.accuracy_table),
        ("figure-2", "Figure 2 in numbers", smooth_tables.accuracy_table),
        ("figure-4", "Figure 4 in numbers", smooth_tables.accuracy_table),
        ("figure-6", "Figure 6 in numbers", smooth_tables.auc_table),
    ):
        result = list(_means(folder, name))
        if result:
            parts.append(f"## {title}\n\n{show(result)}\n")
    text = "\n".join(parts)
    if parts:
        (folder / TABLES).write_text(text, encoding="utf-8")
    return text


_NEEDED = f"The ε that each method needs to come within {smooth_tables.CLOSE:g} of GreedyRL's mean test accuracy"


def _means(folder: Path, name: str) -> Iterator[Cell]:
    for dataset in DATASETS:
        file = folder / f"{name}-{dataset}" / f"{name}-{dataset}.csv"
        if file.is_file():
            yield from cast(list[Any], pd.read_csv(file).to_dict("records"))


def _epsilons(name: str, given: Sequence[float] | None) -> tuple[float, ...]:
    own = ARTIFACTS[name].epsilons
    if given is None:
        return own
    values = tuple(map(float, given))
    if not values or (len(own) == 1 and len(values) > 1) or not all(0 < value < float("inf") for value in values):
        many = "one number" if len(own) == 1 else "numbers"
        raise ArgumentError(f"epsilons must be {many} > 0 for {name.replace('-', ' ')}, got {given!r}.")
    return tuple(sorted(values))


def _store(folder: Path, name: str, dataset: str, epsilons: tuple[float, ...]) -> RunStore:
    measure: Any = ARTIFACTS[name].measure(dataset, epsilons)
    settings = {"study": "smooth-sensitivity", "made": name, **asdict(measure), **asdict(DATASETS[dataset])}
    settings |= {"max_rules": MAX_RULES, "confidence": CONFIDENCE, "test_share": TEST_SHARE}
    return RunStore(folder / f"{name}-{dataset}", settings)


def _make_figure_1(folder: Path, *, resume: bool) -> None:
    if folder.exists() and not resume:
        raise ArgumentError(f"{folder} exists already; replace it with --resume, or give another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    curves = amplitudes()
    write_csv(curves, folder / f"{FIGURE_1}.csv")
    save(smooth_plots.draw_amplitude(curves, AMPLITUDES_CAPTION), folder / FIGURE_1)
