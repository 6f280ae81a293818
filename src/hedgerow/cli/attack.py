"""`hedgerow attack`: run a privacy attack on a learner and save the result for a report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hedgerow.cli import options
from hedgerow.cli.learner_options import CLASSIFIER_LEARNERS, MODEL_KIND, ModelKind, given_parameters, with_parameters
from hedgerow.cli.options import FILE, number, option, with_groups
from hedgerow.cli.output import check_output, say, stage
from hedgerow.cli.rows import UnitOptions, read_labelled
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.learn.learners import REGRESSORS
from hedgerow.privacy.amounts import positive
from hedgerow.schema import Schema
from hedgerow.tables.table_files import PIPE

app = typer.Typer(add_completion=False)
Kind = Literal["membership", "lira", "exact-membership", "exact-inference", "one-run"]


def _of_attack(text: str, metavar: str) -> Any:
    return option(text, metavar=metavar, rich_help_panel="Options of attacks")


@dataclass(frozen=True)
class AttackOptions:
    """Options of attacks; each belongs to some kinds of attack."""

    method: Annotated[
        str | None,
        _of_attack(
            "For membership: random-forest or label-only; for lira: online, offline, rmia or rmia-offline.  "
            "\\[default: random-forest; lira: online]",
            "NAME",
        ),
    ] = None
    repeats: Annotated[
        int | None, _of_attack("Number of random splits.  \\[default: membership 100, lira 32]", "N")
    ] = None
    canaries: Annotated[
        int | None,
        _of_attack("For one-run: number of rows that are included by coin flips.  \\[default: all rows]", "N"),
    ] = None
    candidates: Annotated[
        Path | None,
        _of_attack(
            "For exact-inference: file of candidates; one of them was a training row in addition to DATA.", "FILE"
        ),
    ] = None
    jobs: Annotated[int | None, _of_attack("Parallel processes; -1 uses all cores.  \\[default: 1]", "N")] = None
    seed: Annotated[int | None, _of_attack("Seed of the splits and refits, for repeatable results.", "N")] = None

    def check(self, kind: Kind) -> None:
        """Raise `ArgumentError` for an option that this kind of attack does not have."""
        kinds: dict[str, tuple[str, ...]] = {
            "method": ("membership", "lira"),
            "repeats": ("membership", "lira"),
            "canaries": ("one-run",),
            "candidates": ("exact-inference",),
            "jobs": ("membership", "lira"),
            "seed": ("membership", "lira", "one-run"),
        }
        for name, takers in kinds.items():
            if getattr(self, name) is not None and kind not in takers:
                raise ArgumentError(f"--{name} requires attack {' or '.join(takers)}; leave it out for {kind}.")
        if self.jobs == 0:
            raise ArgumentError("expected --jobs to be a positive number of processes, or -1 for all cores, got 0.")
        if kind == "exact-inference" and self.candidates is None:
            raise ArgumentError("--candidates FILE is missing; exact-inference requires a table of candidate rows.")


@app.command("attack")
@with_groups
@with_parameters
def attack(
    kind: Annotated[
        Kind,
        typer.Argument(
            help="Attack: membership, lira, exact-membership, exact-inference or one-run.", metavar="ATTACK"
        ),
    ],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Training rows: {FILE}.")],
    schema: Annotated[Path | None, option("Schema file of the fit (YAML or JSON).")] = None,
    epsilon: Annotated[str | None, number("Privacy loss of the whole model, as in the fit.")] = None,
    model: Annotated[ModelKind, option(MODEL_KIND, metavar="KIND")] = "rule-list",
    *,
    how: AttackOptions,
    unit: UnitOptions,
    output: Annotated[Path, option("Result file; its name must contain PRIVATE.", "-o", "--output")] = Path(
        "attack.PRIVATE.json"
    ),
    force: options.Force = False,
    as_json: options.AsJson = False,
    text: options.TextOptions,
    **parameters: Any,
) -> None:
    """Run a privacy attack on a learner and save the result for a report.

    Give the same options as in the fit: the result applies only to this learner, epsilon, schema and table. An attack
    charges no budget, since its result is PRIVATE: it depends on the exact rows. Show it to the curator and the board
    only.

    membership: fit on random halves of the table and infer membership with a random forest.

    lira: infer membership by likelihood ratios of many refits.

    exact-membership: compute the gain of the best possible attack on each row. For a tree or rule list that is drawn
    as a whole.

    exact-inference: compute the best possible guess among candidate rows. For the same models.

    one-run: estimate a lower bound on epsilon from a single fit.

    [bold]Examples[/bold]:

    hedgerow attack lira train.csv --schema patients.yaml --epsilon 1 --model tree -o lira.PRIVATE.json

    hedgerow report model.json --data train.csv --attack lira.PRIVATE.json -o report.html
    """
    from hedgerow.audit.attack_record import check_private_name

    missing = [name for name, value in {"--epsilon": epsilon, "--schema": schema}.items() if value is None]
    if epsilon is None or schema is None:
        raise ArgumentError(f"{' and '.join(missing)} missing; give the epsilon and the schema of the fit.")
    how.check(kind)
    if str(data) == str(how.candidates) == PIPE:
        raise ArgumentError("DATA and --candidates cannot both be read from standard input.")
    check_private_name(output)
    check_output(output, data, schema, how.candidates, force=force)
    declared = unit.applied(load_schema(schema))
    learner = _learner(model, epsilon, parameters, declared)
    rows = _labelled(data, text, declared)
    candidates = _labelled(how.candidates or data, text, declared) if kind == "exact-inference" else rows
    with stage(f"{kind} attack"):
        result = _run(kind, learner, rows, candidates, how)
    result.record.save(output)
    say(f"written to {output}", err=True)
    say(result.record.to_json().rstrip("\n") if as_json else f"{result}")


def _learner(model: ModelKind, epsilon: str, parameters: dict[str, Any], schema: Schema) -> Any:
    """Return the estimator with the parameters of a fit."""
    from hedgerow import learn

    makers = CLASSIFIER_LEARNERS if schema.target.as_number is None else REGRESSORS
    given = given_parameters(model, parameters, makers, schema)
    make = getattr(learn, makers[model].estimator)
    learner = make(epsilon=positive(epsilon, "epsilon"), **given, schema=schema)
    learner.check_public()
    return learner


def _labelled(path: Path, text: options.TextOptions, schema: Schema) -> tuple[Any, Any]:
    rows = read_labelled(path, text.text_format, schema)
    assert rows is not None  # the path is not None
    return rows


def _run(kind: Kind, learner: Any, rows: tuple[Any, Any], candidates: tuple[Any, Any], how: AttackOptions) -> Any:
    from hedgerow import audit

    if kind == "exact-membership":
        return audit.exact_membership(learner, *rows)
    if kind == "exact-inference":
        return audit.exact_inference(learner, *rows, candidates=candidates)
    if kind == "one-run":
        return audit.one_run_epsilon(
            learner, *rows, canaries=how.canaries, claim=float(learner.epsilon), random_state=how.seed
        )
    function, repeats = (audit.membership, 100) if kind == "membership" else (audit.lira, 32)
    settings: dict[str, Any] = {} if how.method is None else {"attack": how.method}
    settings |= {"repeats": repeats if how.repeats is None else how.repeats}
    return function(learner, *rows, **settings, random_state=how.seed, n_jobs=how.jobs, verbose=True)
