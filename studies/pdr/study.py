"""The PDR study: Figures 2 to 6, and two of its own, from raw runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from hedgerow.boundary.arguments import check_integer
from hedgerow.errors import ArgumentError
from studies.pdr import tables as reconstruct_tables
from studies.pdr.figures import (
    DEPTHS,
    EPSILONS,
    PICTURES,
    SUPPORTS,
    TIME_LIMIT,
    caption,
    chosen,
    drawn,
    kinds_of,
)
from studies.pdr.runs import (
    DATASETS,
    NOISE_DRAWS,
    PRIVATE,
    PRIVATE_SIZES,
    TEST_SHARE,
    Frame,
    Learning,
    Releasing,
)
from studies.results import save, write_csv
from studies.runs import RunStore, complete

TABLES = "tables.md"
FOLDER = Path("pdr")


def reproduce_pdr(
    *,
    figure: int | None = None,
    dataset: str | None = None,
    seeds: int = 5,
    depths: Sequence[int] = DEPTHS,
    supports: Sequence[float] = SUPPORTS,
    epsilons: Sequence[float] = EPSILONS,
    time_limit: float = TIME_LIMIT,
    folder: Path = FOLDER,
    resume: bool = False,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> str:
    """Reproduce the figures of PDR: what optimal and greedy trees and lists disclose about their training rows.

    Models are measured once for all figures that show them: ``trees-adult`` has the runs of Figures 2, 4 and 5 on
    Adult, ``lists-adult`` those of Figures 3, 4 and 6. Two figures are not in the paper: 7, private models
    (``private-adult``), and 8, optimal trees with the fewest splits (``compact-adult``). Beside them are
    means (``trees-adult.csv``), the paper's claims and whether they hold (``trees-adult-claims.csv``), the plots
    (``figure-2-adult.png``) and, for all results in the folder, ``tables.md``. Splits are seeded, and so is noise: no
    model has privacy, not even those of Figure 7.

    Parameters
    ----------
    figure : {2, 3, 4, 5, 6, 7, 8}, optional
        The figure. Default: all.
    dataset : {"adult", "compas"}, optional
        The dataset. Default: both.
    seeds : int, default=5
        The number of random splits, 80/20.
    depths : sequence of int
        Depths of trees, and rules of lists without the default rule.
    supports : sequence of float
        Minimum support: the share of all training rows that a leaf or rule must hold.
    epsilons : sequence of float
        The values of ε of Figure 7.
    time_limit : float
        Seconds for one optimal model. Beyond it the best one found is kept with its proven gap, and drawn hollow.
    folder : Path
        The output folder.
    resume : bool, default=False
        Whether to resume an existing study: complete runs are kept, others done. With more `seeds` than before, the new
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
        If there is no such figure or dataset, a parameter is out of range, or the folder cannot be used.

    References
    ----------
    Ferry, Aïvodji, Gambs, Huguet and Siala (PDR), *Probabilistic Dataset Reconstruction from Interpretable Models*,
    2024: Section V and Appendix A.

    Examples
    --------
    >>> reproduce_pdr(figure=1)
    Traceback (most recent call last):
        ...
    hedgerow.errors.ArgumentError: figure must be one of 2, 3, 4, 5, 6, 7, 8 (1 is a diagram), got 1.
    """
    _check(seeds, depths, supports, epsilons, time_limit)
    figures, names = chosen(figure, dataset)
    measures = {
        (kind, name): Releasing(name, tuple(sorted(map(float, epsilons))))
        if kind == PRIVATE
        else Learning(name, kind, tuple(sorted(depths)), tuple(sorted(supports)), float(time_limit))
        for kind in kinds_of(figures)
        for name in names
    }
    stores = {key: _store(folder, measure, *key) for key, measure in measures.items()}
    for store in stores.values():
        store.check(resume=resume)
    for name in names:
        result: dict[str, Frame] = {}
        for kind in kinds_of(figures):
            measure, store = measures[kind, name], stores[kind, name]
            runs = seeds * len(measure.cells)
            result[kind] = complete(store, measure, runs, resume=resume, n_jobs=n_jobs, verbose=verbose)
            _write_means(result[kind], folder, kind, name)
        for number in figures:
            _draw(folder, number, name, {kind: result[kind] for kind in PICTURES[number].kinds})
    text = reconstruct_tables.tables(folder)
    (folder / TABLES).write_text(text, encoding="utf-8")
    return text


def _check(
    seeds: object, depths: Sequence[int], supports: Sequence[float], epsilons: Sequence[float], time_limit: float
) -> None:
    check_integer("seeds", seeds, 1)
    if not depths or not all(isinstance(d, int) and d >= 1 for d in depths):
        raise ArgumentError(f"depths must be whole numbers >= 1, got {list(depths)}.")
    if not supports or not all(0 < s < 0.5 for s in supports):
        raise ArgumentError(f"supports must be shares above 0 and below 0.5, got {list(supports)}.")
    if not epsilons or not all(0 < e < float("inf") for e in epsilons):
        raise ArgumentError(f"epsilons must be numbers > 0, got {list(epsilons)}.")
    if not time_limit > 0:
        raise ArgumentError(f"time_limit must be a number of seconds > 0, got {time_limit!r}.")


def _store(folder: Path, measure: Learning | Releasing, kind: str, name: str) -> RunStore:
    settings = {"study": "reconstruction", "made": kind, **asdict(measure), **asdict(DATASETS[name])}
    settings |= {"test_share": TEST_SHARE}
    if kind == PRIVATE:
        settings |= {"sizes": dict(PRIVATE_SIZES), "noise_draws": NOISE_DRAWS}
    return RunStore(folder / f"{kind}-{name}", settings)


def _write_means(records: Frame, folder: Path, kind: str, name: str) -> None:
    write_csv(reconstruct_tables.means(records), folder / f"{kind}-{name}.csv")
    if kind != PRIVATE:
        write_csv(reconstruct_tables.claims_of(records, kind, name), folder / f"{kind}-{name}-claims.csv")


def _draw(folder: Path, number: int, name: str, records: dict[str, Frame]) -> None:
    """Write a figure computed from raw runs alone."""
    parts = {kind: reconstruct_tables.means(part) for kind, part in records.items()}
    curves = {kind: reconstruct_tables.ratio_curves(part) for kind, part in records.items()} if number == 4 else {}
    for kind, curve in curves.items():
        write_csv(curve, folder / f"figure-4-{name}-{kind}.csv")
    cells = next(iter(parts.values()))
    text = caption(number, name, cells, int(cells["seeds"].min()))
    save(drawn(number, parts, curves, text), folder / f"figure-{number}-{name}")
