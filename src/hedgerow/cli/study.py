"""`hedgerow study`: the figures and tables of papers, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hedgerow.errors import ArgumentError

app = typer.Typer(no_args_is_help=True, help="Make the figures and tables of papers again, from raw runs.")


@app.callback()
def studies() -> None:
    """Make the figures and tables of papers again, from raw runs. For researchers: the noise is seeded, not private."""


@app.command("smooth-sensitivity")
def smooth_sensitivity(
    figure: Annotated[int | None, typer.Option(help="1, 2, 3, 4 or 6. Default: everything.")] = None,
    table: Annotated[int | None, typer.Option(help="1.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="adult, compas or german. Default: all that the figure is of.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Random splits, 70/30.")] = 100,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for runs, pictures and tables.")] = Path(
        "smooth-sensitivity"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is in the folder; add runs to it.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1: one a processor.")] = -1,
) -> None:
    """Ly et al., Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists.

    Every run is written when it is done: stop at any time, and go on with --resume. The tables are printed, with the
    paper's numbers beside ours where it prints any. docs/reproduce.md says what to expect.

    [bold]Example[/bold]: hedgerow study smooth-sensitivity --figure 3 --dataset compas --runs 100
    """
    from hedgerow.studies import smooth_sensitivity as study

    if jobs == 0:
        raise ArgumentError("--jobs must be a number of processes, or -1 for one a processor; got 0.")
    text = study(
        figure=figure,
        table=table,
        dataset=dataset,
        runs=runs,
        folder=output,
        resume=resume,
        n_jobs=jobs,
        verbose=True,
    )
    typer.echo(f"{text}\nwritten to {output}".lstrip())


@app.command()
def reconstruction(
    figure: Annotated[
        int | None, typer.Option(help="2 to 6; 7 (private models) and 8 (smallest trees) are not in the paper.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="adult or compas. Default: both.")] = None,
    seeds: Annotated[int, typer.Option(help="Random splits, 80/20.")] = 5,
    max_depth: Annotated[int, typer.Option(help="Largest depth of trees, and number of rules of lists.")] = 10,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for runs, pictures and tables.")] = Path(
        "reconstruction"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is in the folder; add seeds to it.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1: one a processor.")] = -1,
) -> None:
    """Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models.

    How much of their training rows optimal and greedy trees and rule lists tell (Dist_G), by size, accuracy and limits.
    Models are measured once for all figures that show them, and every run is written when it is done: stop at any time,
    and go on with --resume. The tables that are printed hold what the paper says against what was found.
    docs/reproduce.md says what to expect.

    [bold]Example[/bold]: hedgerow study reconstruction --figure 3 --dataset compas
    """
    from hedgerow.studies import reconstruction as study

    if jobs == 0:
        raise ArgumentError("--jobs must be a number of processes, or -1 for one a processor; got 0.")
    text = study(
        figure=figure,
        dataset=dataset,
        seeds=seeds,
        depths=range(1, max_depth + 1),
        folder=output,
        resume=resume,
        n_jobs=jobs,
        verbose=True,
    )
    typer.echo(f"{text}\nwritten to {output}")


@app.command()
def expril(
    figure: Annotated[int | None, typer.Option(help="1. Default: figure and table.")] = None,
    table: Annotated[int | None, typer.Option(help="2.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A, B, C, D, E, CTG-A or CTG-B. Default: all.")] = None,
    runs: Annotated[int, typer.Option(help="Runs, each with a problem drawn anew.")] = 100,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for runs, pictures and tables.")] = Path(
        "expril"
    ),
    resume: Annotated[bool, typer.Option("--resume", help="Continue what is in the folder; add runs to it.")] = False,
    jobs: Annotated[int, typer.Option(help="Processes at a time; -1: one a processor.")] = -1,
) -> None:
    """Lacombe et al., EXtremely PRIvate supervised Learning.

    Every run is written when it is done: stop at any time, and go on with --resume. The tables are printed, with the
    paper's numbers beside ours. docs/reproduce.md says what to expect.

    [bold]Example[/bold]: hedgerow study expril --table 2 --dataset CTG-A --runs 10
    """
    from hedgerow.studies import expril as study

    if jobs == 0:
        raise ArgumentError("--jobs must be a number of processes, or -1 for one a processor; got 0.")
    text = study(
        figure=figure,
        table=table,
        dataset=dataset,
        runs=runs,
        folder=output,
        resume=resume,
        n_jobs=jobs,
        verbose=True,
    )
    typer.echo(f"{text}\nwritten to {output}".lstrip())
