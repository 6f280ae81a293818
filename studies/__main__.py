"""`python -m studies`: reproduction of the figures and tables of papers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.errors import ArgumentError, HedgerowError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, help="Reproduce the figures and tables of papers, from raw runs."
)

Output = Annotated[Path, typer.Option("-o", "--output", help="Folder for runs, pictures and tables.")]
Resume = Annotated[bool, typer.Option("--resume", help="Continue the study in this folder; add runs to it.")]
Jobs = Annotated[int, typer.Option(help="Processes at a time; -1: one a processor.")]


@app.callback()
def studies() -> None:
    """Reproduce the figures and tables of papers, from raw runs. For researchers: the noise is seeded, not private."""


@app.command()
def ssrl(
    figure: Annotated[int | None, typer.Option(help="1, 2, 3, 4 or 6. Default: everything.")] = None,
    table: Annotated[int | None, typer.Option(help="1.")] = None,
    dataset: Annotated[
        str | None, typer.Option(help="adult, compas or german. Default: all of the figure's datasets.")
    ] = None,
    runs: Annotated[int, typer.Option(help="Random splits, 70/30.")] = 100,
    output: Output = Path("ssrl"),
    resume: Resume = False,
    jobs: Jobs = -1,
) -> None:
    """Ly et al., Smooth Sensitivity for Learning Differentially-Private yet Accurate Rule Lists.

    Every run is written when it is done: stop at any time, and resume with --resume. The tables are printed, with the
    paper's numbers where it has any. docs/studies/ssrl.md lists the expected results.

    [bold]Example[/bold]: python -m studies ssrl --figure 3 --dataset compas --runs 100
    """
    from studies import reproduce_ssrl

    settings = {"figure": figure, "table": table, "dataset": dataset, "runs": runs}
    _run(reproduce_ssrl, settings, output, resume=resume, jobs=jobs)


@app.command()
def pdr(
    figure: Annotated[
        int | None, typer.Option(help="2 to 6; 7 (private models) and 8 (smallest trees) are not in the paper.")
    ] = None,
    dataset: Annotated[str | None, typer.Option(help="adult or compas. Default: both.")] = None,
    seeds: Annotated[int, typer.Option(help="Random splits, 80/20.")] = 5,
    max_depth: Annotated[int, typer.Option(help="Largest depth of trees, and number of rules of lists.")] = 10,
    time_limit: Annotated[float, typer.Option(help="Seconds for the search of one optimal model.")] = 600.0,
    output: Output = Path("pdr"),
    resume: Resume = False,
    jobs: Jobs = -1,
) -> None:
    """Ferry et al., Probabilistic Dataset Reconstruction from Interpretable Models.

    How much optimal and greedy trees and rule lists disclose about their training rows (Dist_G), by size, accuracy and
    limits. Models are measured once for all figures that show them, and every run is written when it is done: stop at
    any time, and resume with --resume. The printed tables compare the paper's claims with the results.
    docs/studies/pdr.md lists the expected results.

    [bold]Example[/bold]: python -m studies pdr --figure 3 --dataset compas
    """
    from studies import reproduce_pdr

    settings: dict[str, Any] = {"figure": figure, "dataset": dataset, "seeds": seeds, "time_limit": time_limit}
    settings["depths"] = range(1, max_depth + 1)
    _run(reproduce_pdr, settings, output, resume=resume, jobs=jobs)


@app.command()
def expril(
    figure: Annotated[int | None, typer.Option(help="1. Default: figure and table.")] = None,
    table: Annotated[int | None, typer.Option(help="2.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A, B, C, D, E, CTG-A or CTG-B. Default: all.")] = None,
    runs: Annotated[int, typer.Option(help="Runs, each with a problem drawn anew.")] = 100,
    output: Output = Path("expril"),
    resume: Resume = False,
    jobs: Jobs = -1,
) -> None:
    """Lacombe et al., EXtremely PRIvate supervised Learning.

    Every run is written when it is done: stop at any time, and resume with --resume. The tables are printed, with the
    paper's numbers. docs/studies/expril.md lists the expected results.

    [bold]Example[/bold]: python -m studies expril --table 2 --dataset CTG-A --runs 10
    """
    from studies import reproduce_expril

    settings = {"figure": figure, "table": table, "dataset": dataset, "runs": runs}
    _run(reproduce_expril, settings, output, resume=resume, jobs=jobs)


def _run(study: Any, settings: dict[str, Any], output: Path, *, resume: bool, jobs: int) -> None:
    """Reproduce what is asked for, and print its tables."""
    if jobs == 0:
        raise ArgumentError("--jobs must be a number of processes, or -1 for one a processor; got 0.")
    text = study(**settings, folder=output, resume=resume, n_jobs=jobs, verbose=True)
    if text:
        typer.echo(text)
    typer.echo(f"written to {output}", err=True)


def main() -> None:
    """Run the command line; an error is one line, and exit code 2."""
    try:
        app(prog_name="python -m studies")
    except HedgerowError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
