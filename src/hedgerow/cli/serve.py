"""`hedgerow serve`: a curator's service, with its keys and its configuration."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hedgerow.boundary.durable import sync_folder
from hedgerow.cli.options import advanced, option
from hedgerow.cli.output import progress, say
from hedgerow.errors import ArgumentError, MissingPackageError
from hedgerow.text.messages import shown

if TYPE_CHECKING:
    from hedgerow.service.config import Config
    from hedgerow.service.keys import Keys
    from hedgerow.service.server import Address

app = typer.Typer(
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
    help="Serve a curator's tables: analysts ask, a ledger decides, rows stay.",
)
keys_app = typer.Typer(add_completion=False, no_args_is_help=True, help="Make, list and revoke API keys.")
app.add_typer(keys_app, name="key")
_REQUIRED = ("cryptography", "fastapi", "jinja2", "jwt", "matplotlib", "prometheus_client", "sqlalchemy", "uvicorn")
AcceptRollback = Annotated[bool, option("Continue with a ledger that lost entries and record it.", "--accept-rollback")]
NewLedger = Annotated[bool, option("Begin a ledger if there is none: every budget is whole.", "--new-ledger")]
ConfigFile = Annotated[Path, option("Configuration, as `hedgerow serve init` writes one.", "--config")]
CONFIG = Path("curator.yaml")
_TEMPLATE = """\
# The configuration of a curator's service. Paths count from this file. Amounts mean what is written.
ledger: {ledger}  # a SQLite file, or postgresql://user@host/database
signing_key: curator.key     # receipts of answers are signed with it; curator.pub is for everybody
datasets:
  patients:
    table: patients.csv      # or data.parquet, duckdb:///FILE::TABLE, postgresql://USER@HOST/DATABASE::TABLE
    schema: patients.yaml    # as `hedgerow schema new` writes one, checked by you; it is public
    reason: the rows of 2026 # why these rows have this cap; it is in the ledger
    cap: {epsilon: 4}        # of the dataset, for good: also {epsilon: 4, delta: 1e-6} or {rho: 0.5}
    analysts:                # their caps add up to the dataset's at most
      ana: {epsilon: 2}
    min_epsilon: 0.001       # the least of a question, so that nobody asks without end
    answer_after: 5          # seconds; without it, answers leave at once, and run time tells something of the rows
"""


@app.callback()
def serve(
    context: typer.Context,
    demo: Annotated[bool, option("Serve a public table, with a new ledger and key.", "--demo")] = False,
    config: Annotated[Path | None, option("Configuration of the service.", "--config")] = None,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port for analysts; 0 for any that is free.")] = 8765,
    curator_port: Annotated[int, option("Port for the curator's pages; 0 for any that is free.")] = 0,
    curator_host: Annotated[
        str, advanced("Address of the curator's port. Change it only in a container that publishes it on loopback.")
    ] = "127.0.0.1",
    tls_certificate: Annotated[Path | None, option("Certificate (PEM) for TLS.")] = None,
    tls_key: Annotated[Path | None, option("Its private key (PEM).")] = None,
    behind_proxy: Annotated[bool, option("A proxy in front does TLS.", "--behind-proxy")] = False,
    new_ledger: NewLedger = False,
    accept_rollback: AcceptRollback = False,
) -> None:
    """Serve a curator's tables: analysts ask, a ledger decides, rows stay.

    Prints one line of JSON when it is ready, with the URLs; with --demo also the analyst's key. With --config,
    questions, refusals and log-ins are logged to standard error, as lines of JSON. Stop it with Ctrl-C: what is being
    answered is finished first.

    [bold]Examples[/bold]:

    hedgerow serve --demo --port 8765

    hedgerow serve init && hedgerow serve key add ana && hedgerow serve --config curator.yaml
    """
    if context.invoked_subcommand is not None:
        return
    require_service()
    from hedgerow.service.server import Address

    if demo == (config is not None):
        raise ArgumentError("expected --demo, or --config FILE; got both or none. Start with: hedgerow serve init")
    address = Address(host, port, tls_certificate, tls_key, behind_proxy)
    own = Address(curator_host, curator_port, behind_proxy=behind_proxy)
    if config is None:
        _serve_demo(address, own)
    else:
        _serve_config(config, address, own, {"new_ledger": new_ledger, "accept_rollback": accept_rollback})


@app.command("init")
def init(
    folder: Annotated[Path, typer.Argument(help="Folder for configuration and signing key.")] = Path(),
    ledger: Annotated[str, option("SQLite file in the folder, or URL of PostgreSQL, for the ledger.")] = "ledger.db",
) -> None:
    """Write a configuration to edit, curator.yaml, and a signing key, and begin the ledger.

    If you change `ledger:` in the configuration afterwards, begin the other ledger once with `hedgerow serve check
    --new-ledger`.
    """
    require_service()
    from hedgerow.service.config import Config
    from hedgerow.service.receipts import Signer

    refuse_password(ledger)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / CONFIG
    for path in (target, folder / ledger):
        if path.exists():
            raise ArgumentError(f"{path} exists already; use it as it is, or name another folder.")
    Signer.new().save(folder / "curator.key")
    target.write_text(_TEMPLATE.replace("{ledger}", json.dumps(ledger) if "://" in ledger else ledger))
    Config.read(target).open_ledger(new_ledger=True).close()
    say(f"written: {target}, {folder / 'curator.key'}, {folder / 'curator.pub'}; the ledger has begun")
    say("next: edit the configuration, then hedgerow serve check, hedgerow serve key add ana")


@app.command("check")
def check(config: ConfigFile = CONFIG, new_ledger: NewLedger = False, accept_rollback: AcceptRollback = False) -> None:
    """Open all tables, check every row, declare new datasets and analysts, and verify the ledger."""
    found = read_config(config)
    with found.open(new_ledger=new_ledger, accept_rollback=accept_rollback).ledger as ledger:
        with progress("Verifying the ledger") as advanced:
            ledger.verify(progress=advanced)
        for name in found.datasets:
            say(f"{name}:\n{ledger.account(name)}")
    say("the configuration, all rows and the ledger were checked: no problem was found")
    say(f"next: hedgerow serve key add NAME for each analyst, then hedgerow serve --config {config}")


@app.command("epoch")
def epoch(
    dataset: Annotated[str, typer.Argument(help="Name of the dataset, as in the configuration.")],
    reason: Annotated[str, option("Which rows are new; it is in the ledger for good.")],
    config: ConfigFile = CONFIG,
    yes: Annotated[bool, option("Do not ask: for scripts.", "--yes")] = False,
) -> None:
    """Declare a new epoch of a dataset, with the caps of the configuration: for new rows alone.

    Shows what it allows, and asks. Earlier charges stay with earlier epochs. A row that is in both epochs can be
    charged both caps; the service cannot know which rows these are.
    """
    found = read_config(config)
    from hedgerow.service.config import declare_epoch

    if dataset not in found.datasets:
        raise ArgumentError(f"expected one of the datasets {', '.join(found.datasets)}, got {shown(dataset)}.")
    if not reason.strip():
        raise ArgumentError("expected a reason that names the new rows, got none.")
    one = found.datasets[dataset]
    with found.open_ledger() as ledger:
        before = ledger.epoch(dataset)
        if before is not None:
            say(f"epoch {before} of {dataset}, which ends:\n{ledger.account(dataset)}")
        say(f"its next epoch:\n{one.cap.account}")
        say("Its budget is new and whole. For a person with rows in both epochs, both caps add up.")
        if not yes and not typer.confirm(f"Are all rows of {dataset} new, or may rows that stay be charged both caps?"):
            raise ArgumentError("no epoch was declared; use the rows of the current one.")
        number = declare_epoch(ledger, dataset, one, reason, found.schema_of(one).unit)
    say(f"epoch {number} of {dataset} is declared; restart the service with the new rows")


@app.command("rotate")
def rotate(config: ConfigFile = CONFIG) -> None:
    """Replace the signing key, and enter this in the ledger.

    The public file gets the new key and keeps the earlier ones, so that it still checks earlier receipts.
    """
    found = read_config(config)
    from hedgerow.service.receipts import Signer

    if found.signing_key is None:
        raise ArgumentError("expected a configuration with a signing key, got one without.")
    before, new = Signer.load(found.signing_key), Signer.new()
    with found.open_ledger() as ledger:
        fresh = new.prepare(found.signing_key)
        ledger.rotate(before.name, new.name, new.public)
        fresh.replace(found.signing_key)
        sync_folder(found.signing_key)
    say(f"restart the service: it then signs receipts with the key {new.name}")
    say(f"give everybody {found.signing_key.with_suffix('.pub')}: it has the new key and the earlier ones")


@app.command("approvals")
def approvals(
    approve: Annotated[list[int] | None, option("Approve the question of this number. Repeatable.")] = None,
    refuse: Annotated[list[int] | None, option("Refuse the question of this number. Repeatable.")] = None,
    withdraw: Annotated[list[int] | None, option("Withdraw the approval of this number. Repeatable.")] = None,
    approved: Annotated[bool, option("List the newest approvals in force instead.", "--approved")] = False,
    config: ConfigFile = CONFIG,
) -> None:
    """List the questions that wait for you, and approve or refuse some. The ledger has an entry of each decision.

    A withdrawn approval holds for all that is not charged yet; a question that was charged goes on. A question that
    was refused can still be approved. With approval: first, an approval is for the current epoch alone.

    A question is shown as it was asked, a hypothesis by its digest. Nothing is charged before you approve.
    """
    configuration = read_config(config)
    from hedgerow.service.approvals import Approvals

    with configuration.open_ledger() as ledger:
        found = Approvals(ledger.log)
        pairs = [(number, "approved") for number in approve or []]
        pairs += [(number, "refused") for number in refuse or []]
        pairs += [(number, "withdrawn") for number in withdraw or []]
        decisions: Any = dict(pairs)
        if len(decisions) < len(pairs):
            raise ArgumentError("expected each number once. Nothing was decided.")
        if decisions:
            found.decide(decisions, by=f"the command line, uid {os.getuid()}")
        for request in found.approved() if approved else found.pending():
            say(request)


@keys_app.command("add")
def add_key(
    name: Annotated[str, typer.Argument(help="Who asks: an analyst of the configuration, or an auditor.")],
    role: Annotated[str, option("analyst, auditor or curator.")] = "analyst",
    days: Annotated[int | None, option("For how many days.  \\[until it is revoked]")] = None,
    config: ConfigFile = CONFIG,
) -> None:
    """Make an API key, and print it: it is shown this once."""
    checked: Any = role
    with _keys(config) as keys:
        say(keys.add(name, checked, days))


@keys_app.command("revoke")
def revoke_key(name: Annotated[str, typer.Argument(help="Whose key.")], config: ConfigFile = CONFIG) -> None:
    """Revoke a key. What it was charged stays charged."""
    with _keys(config) as keys:
        keys.revoke(name)


@keys_app.command("list")
def list_keys(config: ConfigFile = CONFIG) -> None:
    """List who has a key, with the role, and when it ends."""
    with _keys(config) as keys:
        for caller, ends in keys.callers().items():
            say(f"{caller.name}  {caller.role}{f'  until {ends}' if ends else ''}")


def _keys(config: Path) -> Keys:
    found = read_config(config)
    from hedgerow.service.keys import Keys

    return Keys(found.ledger, found.timeouts.of_ledger)


def _serve_demo(address: Address, own: Address) -> None:
    from hedgerow.service.server import demo_curator

    with tempfile.TemporaryDirectory(prefix="hedgerow-demo-") as folder:
        curator, keys, key = demo_curator(Path(folder))
        _run(curator, keys, keys.caller, address, own, {"analyst_key": key, "ledger": f"{folder}/ledger.db"})


def _serve_config(path: Path, address: Address, own: Address, start: dict[str, bool]) -> None:
    from hedgerow.service.keys import Keys
    from hedgerow.service.monitoring import log_to_stderr
    from hedgerow.service.tokens import caller_by

    config = read_config(path)
    log_to_stderr()
    curator, keys = config.open(**start), Keys(config.ledger, config.timeouts.of_ledger)
    _run(curator, keys, caller_by(keys, config.tokens), address, own, {}, config.timeouts.stop)


def _run(
    curator: Any,
    keys: Keys,
    caller: Callable[[str], Any],
    address: Address,
    own: Address,
    more: dict[str, str],
    stop: float = 30,
) -> None:
    from hedgerow.service.app import create_app
    from hedgerow.service.dashboard import create_dashboard, mount_dashboard
    from hedgerow.service.jobs import Jobs
    from hedgerow.service.monitoring import Metrics, Observed
    from hedgerow.service.server import serve as run

    jobs = Jobs(curator)
    metrics, app = Metrics(jobs), create_app(curator, caller, jobs)
    mount_dashboard(app, curator.ledger, keys, secure=address.secure)
    dashboard, token = create_dashboard(curator.ledger, keys, metrics, curator.approvals)

    def ready(url: str, curator_url: str) -> None:
        say(json.dumps({"url": url, **more, "curator_url": f"{curator_url}/?token={token}"}))

    try:
        run(Observed(app, metrics.count), address, dashboard, own, ready, stop)
    finally:
        jobs.close()
        curator.ledger.close()
        keys.close()


def read_config(path: Path) -> Config:
    require_service()
    from hedgerow.service.config import Config

    return Config.read(path)


def refuse_password(address: str) -> None:
    from hedgerow.engines.files import has_password

    if has_password(address):
        problem = "expected a URL without a password, which everybody on this machine could read in the list of"
        raise ArgumentError(f"{problem} processes. Keep the password in ~/.pgpass or $PGPASSWORD.")


def require_service() -> None:
    missing = [module for module in _REQUIRED if find_spec(module) is None]
    if missing:
        raise MissingPackageError.of("this command", " and ".join(missing), "service")
