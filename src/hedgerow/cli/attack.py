"""`hedgerow attack`: attacks on a private learner, whose results can be attached to a report."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from hedgerow.cli import options
from hedgerow.cli.learner_options import CLASSIFIER_LEARNERS, ModelKind, given_parameters, with_parameters
from hedgerow.cli.options import FILE, advanced, number, option, with_groups
from hedgerow.cli.output import check_output, say, stage
from hedgerow.cli.rows import UnitOptions, read_labelled
from hedgerow.cli.schema import load_schema
from hedgerow.errors import ArgumentError
from hedgerow.learn.learners import REGRESSORS
from hedgerow.privacy.amounts import exact
from hedgerow.schema import Schema
from hedgerow.tables.table_files import PIPE

app = typer.Typer(add_completion=False)
Kind = Literal["membership", "lira", "exact-membership", "exact-inference", "one-run"]


@dataclass(frozen=True)
class AttackOptions:
    """Options of attacks, each for some kinds."""

    method: Annotated[
        str | None, option("random-forest, label-only; of lira online, offline, rmia, rmia-offline.", metavar="NAME")
    ] = None
    repeats: Annotated[int | None, option("Random splits.  \\[membership: 100, lira: 32]")] = None
    canaries: Annotated[int | None, option("one-run: rows that coins put in.  \\[all]")] = None
    candidates: Annotated[Path | None, option("exact-inference: a table of rows, one of which is there too.")] = None
    jobs: Annotated[int | None, advanced("Processes of refits; -1 is all.  \\[1]")] = None
    seed: Annotated[int | None, advanced("Makes splits and refits repeatable.")] = None

    def check(self, kind: Kind) -> None:
        """Check that the options are those of the kind of attack."""
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
                raise ArgumentError(f"--{name} is for {' and '.join(takers)}, got {kind}; leave it out.")
        if self.jobs == 0:
            raise ArgumentError("--jobs must be a number of processes, or -1 for all, got 0.")
        if kind == "exact-inference" and self.candidates is None:
            raise ArgumentError("expected --candidates FILE, the rows of which one is in the table too; got none.")


@app.command("attack")
@with_groups
@with_parameters
def attack(
    kind: Annotated[Kind, typer.Argument(help="membership, lira, exact-membership, exact-inference or one-run.")],
    data: Annotated[Path, typer.Argument(help=f"The training rows: {FILE}.")],
    schema: Annotated[Path | None, option("YAML or JSON: the schema of the fit.")] = None,
    epsilon: Annotated[str | None, number("Privacy loss of the whole model, as in the fit.")] = None,
    model: Annotated[ModelKind, option(f"{', '.join(CLASSIFIER_LEARNERS)}.", metavar="KIND")] = "rule-list",
    *,
    how: AttackOptions,
    unit: UnitOptions,
    output: Annotated[Path, option("File for the result; its name says PRIVATE.", "-o", "--output")] = Path(
        "attack.PRIVATE.json"
    ),
    force: options.Force = False,
    as_json: options.AsJson = False,
    text: options.TextOptions,
    **parameters: Any,
) -> None:
    """Attack a private learner, and write what the attack reached, to be attached to a report.

    Give the options of the fit: the result is bound to the learner, its epsilon, the schema and the rows. Nothing is
    released, and nothing is charged. The result is a function of the rows: it is for the curator and the board alone.

    membership fits the learner on random halves of the table, and infers their rows by a random forest; lira infers by
    likelihood ratios of refits. For a tree or list drawn as a whole, exact-membership computes what the best attack on
    each row gains, and exact-inference the best guess among candidates. one-run makes one fit, and bounds its privacy
    loss from below.

    [bold]Examples[/bold]:

    hedgerow attack lira train.csv --schema patients.yaml --epsilon 1 --model tree -o lira.PRIVATE.json

    hedgerow report model.json --data train.csv --attack lira.PRIVATE.json -o report.html
    """
    from hedgerow.audit.attack_record import check_private_name

    if epsilon is None or schema is None:
        raise ArgumentError("expected --epsilon and --schema, those of the fit; got none.")
    how.check(kind)
    if str(data) == str(how.candidates) == PIPE:
        raise ArgumentError("only one of DATA and --candidates can be standard input.")
    check_private_name(output)
    check_output(output, data, schema, how.candidates, force=force)
    declared = unit.applied(load_schema(schema))
    learner = _learner(model, epsilon, parameters, declared)
    rows = _labelled(data, text, declared)
    candidates = _labelled(how.candidates or data, text, declared) if kind == "exact-inference" else rows
    with stage(f"{kind} attack"):
        found = _carried_out(kind, learner, rows, candidates, how)
    record = found.record
    record.save(output)
    say(f"written to {output}", err=True)
    say(record.to_json().rstrip("\n") if as_json else f"{found}")


def _learner(model: ModelKind, epsilon: str, parameters: dict[str, Any], schema: Schema) -> Any:
    """Return the estimator of the learner, with the parameters as a fit takes them."""
    from hedgerow import learn

    makers = CLASSIFIER_LEARNERS if schema.target.as_number is None else REGRESSORS
    given = given_parameters(model, parameters, makers, schema)
    make = getattr(learn, makers[model].estimator)
    learner = make(epsilon=exact(epsilon, "epsilon"), **given, schema=schema)
    learner.check_public()
    return learner


def _labelled(path: Path, text: options.TextOptions, schema: Schema) -> tuple[Any, Any]:
    found = read_labelled(path, text.text_format, schema)
    assert found is not None  # the path is given
    return found


def _carried_out(
    kind: Kind, learner: Any, rows: tuple[Any, Any], candidates: tuple[Any, Any], how: AttackOptions
) -> Any:
    """Carry out an attack; errors are those of the function of `hedgerow.audit`."""
    from hedgerow import audit

    if kind == "exact-membership":
        return audit.exact_membership(learner, *rows)
    if kind == "exact-inference":
        return audit.exact_inference(learner, *rows, candidates=candidates)
    if kind == "one-run":
        return audit.one_run_epsilon(
            learner, *rows, canaries=how.canaries, claim=float(learner.epsilon), random_state=how.seed
        )
    run, repeats = (audit.membership, 100) if kind == "membership" else (audit.lira, 32)
    settings: dict[str, Any] = {} if how.method is None else {"attack": how.method}
    settings |= {"repeats": repeats if how.repeats is None else how.repeats}
    return run(learner, *rows, **settings, random_state=how.seed, n_jobs=how.jobs, verbose=True)
