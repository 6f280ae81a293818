"""`hedgerow serve`: run a service, and manage its configuration, keys and approvals."""

from __future__ import annotations

import json
import logging
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
    help="Run a service that answers analysts' questions about private tables within privacy budgets.",
)
keys_app = typer.Typer(add_completion=False, no_args_is_help=True, help="Create, list and revoke API keys.")
app.add_typer(keys_app, name="key")
_REQUIRED = ("cryptography", "fastapi", "jinja2", "jwt", "matplotlib", "prometheus_client", "sqlalchemy", "uvicorn")
AcceptRollback = Annotated[
    bool, option("Continue with a ledger that lost entries, and record the loss.", "--accept-rollback")
]
NewLedger = Annotated[
    bool, option("Create the ledger if it does not exist; every budget is then unspent.", "--new-ledger")
]
ConfigFile = Annotated[Path, option("Configuration file from `hedgerow serve init`.", "--config")]
CONFIG = Path("curator.yaml")
_AFTER_ROLLBACK = (
    "The ledger does not know the charges that it lost, and analysts can spend that budget again. Next: lower the caps "
    "in the configuration by all charges of the epoch, including the lost charges, and start a new epoch of each "
    "dataset: hedgerow serve epoch. Then revoke all keys again that were revoked after the copy was made: hedgerow "
    "serve key revoke."
)
_TEMPLATE = """\
# Configuration of a hedgerow service. Paths are relative to this file. Amounts are read exactly as written.
ledger: {ledger}  # a SQLite file, or postgresql://user@host/database
signing_key: curator.key     # signs the receipts of answers; give curator.pub to everybody
datasets:
  patients:
    table: patients.csv      # or data.parquet, duckdb:///FILE::TABLE, postgresql://USER@HOST/DATABASE::TABLE
    schema: patients.yaml    # from `hedgerow schema new`, completed by you; it is public
    reason: the rows of 2026 # why these rows have this cap; recorded in the ledger
    cap: {epsilon: 4}        # budget of the dataset, forever; also {epsilon: 4, delta: 1e-6} or {rho: 0.5}
    analysts:                # the sum of their caps must not exceed the cap of the dataset
      ana: {epsilon: 2}
    min_epsilon: 0.001       # smallest epsilon of a question; limits the number of questions
    answer_after: 5          # seconds until an answer is sent; without it, run times depend on the rows
"""


@app.callback()
def serve(
    context: typer.Context,
    demo: Annotated[bool, option("Serve a public demo table, with a new ledger and API key.", "--demo")] = False,
    config: Annotated[Path | None, option("Configuration file of the service.", "--config")] = None,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port for analysts; 0 chooses a free port.")] = 8765,
    curator_port: Annotated[int, option("Port of the curator's dashboard; 0 chooses a free port.")] = 0,
    curator_host: Annotated[
        str, advanced("Address of the dashboard. Change it only in a container that publishes it on loopback.")
    ] = "127.0.0.1",
    tls_certificate: Annotated[Path | None, option("TLS certificate (PEM).")] = None,
    tls_key: Annotated[Path | None, option("Private key of the TLS certificate (PEM).")] = None,
    behind_proxy: Annotated[
        bool, option("TLS is provided by a proxy in front of the service.", "--behind-proxy")
    ] = False,
    new_ledger: NewLedger = False,
    accept_rollback: AcceptRollback = False,
) -> None:
    """Run a service that answers analysts' questions about private tables within privacy budgets.

    When the service is ready, it prints a line of JSON with the URLs for analysts and for the curator, who owns the
    tables. With --demo the line also contains an API key. With --config the service logs questions, refused requests
    and log-ins to standard error, as lines of JSON.

    Ctrl-C stops the service after the questions in progress are answered.

    [bold]Examples[/bold]:

    hedgerow serve --demo --port 8765

    hedgerow serve init

    hedgerow serve check

    hedgerow serve key add ana

    hedgerow serve --config curator.yaml
    """
    if context.invoked_subcommand is not None:
        return
    require_service()
    from hedgerow.service.server import Address

    if demo == (config is not None):
        raise ArgumentError(
            f"expected --demo or --config FILE, got {'both' if demo else 'neither'}. Start with: hedgerow serve init"
        )
    address = Address(host, port, tls_certificate, tls_key, behind_proxy)
    dashboard = Address(curator_host, curator_port, behind_proxy=behind_proxy)
    if config is None:
        _serve_demo(address, dashboard)
    else:
        _serve_config(config, address, dashboard, {"new_ledger": new_ledger, "accept_rollback": accept_rollback})


@app.command("init")
def init(
    folder: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="Directory for the configuration and the signing key.")
    ] = Path(),
    ledger: Annotated[str, option("Ledger: a SQLite file in this directory, or a PostgreSQL URL.")] = "ledger.db",
) -> None:
    """Create a configuration to edit (curator.yaml), a signing key and an empty ledger.

    If you change `ledger:` in the configuration later, create the new ledger with `hedgerow serve check --new-ledger`.

    [bold]Example[/bold]: hedgerow serve init
    """
    require_service()
    from hedgerow.service.config import Config
    from hedgerow.service.receipts import Signer

    refuse_password(ledger)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / CONFIG
    for path in (target, folder / ledger):
        if path.exists():
            raise ArgumentError(f"{path} already exists; use it, or give another directory.")
    Signer.new().save(folder / "curator.key")
    target.write_text(_TEMPLATE.replace("{ledger}", json.dumps(ledger) if "://" in ledger else ledger))
    Config.read(target).open_ledger(new_ledger=True).close()
    say(f"written: {target}, {folder / 'curator.key'}, {folder / 'curator.pub'}; the ledger was created")
    say("next: edit the configuration, then run: hedgerow serve check; hedgerow serve key add ana")


@app.command("check")
def check(config: ConfigFile = CONFIG, new_ledger: NewLedger = False, accept_rollback: AcceptRollback = False) -> None:
    """Check the configuration and every row, record new datasets and analysts, and verify the ledger.

    [bold]Example[/bold]: hedgerow serve check --config curator.yaml
    """
    service = read_config(config)
    curator = service.open(new_ledger=new_ledger, accept_rollback=accept_rollback)
    with curator.ledger as ledger:
        with progress("Verifying the ledger") as advance:
            ledger.verify(progress=advance)
        for name in service.datasets:
            say(f"{name}:\n{ledger.account(name)}")
    say(f"policy: {curator.policy}")
    if accept_rollback:
        say(f"The loss of entries was recorded. {_AFTER_ROLLBACK}")
    say("The configuration, all rows and the ledger were checked; no problem was found.")
    say(f"next: hedgerow serve key add NAME for each analyst, then hedgerow serve --config {config}")


@app.command("epoch")
def epoch(
    dataset: Annotated[str, typer.Argument(metavar="DATASET", help="Name of the dataset in the configuration.")],
    reason: Annotated[str, option("Which rows are new; recorded in the ledger permanently.")],
    config: ConfigFile = CONFIG,
    yes: Annotated[bool, option("Do not ask for confirmation.", "--yes")] = False,
) -> None:
    """Start a new epoch of a dataset, whose rows are all new, with the caps of the configuration.

    An epoch has its own budget; earlier charges stay with earlier epochs. A row in two epochs can be charged both caps,
    and the service cannot detect such rows. The command shows the new budget and asks for confirmation.

    [bold]Example[/bold]: hedgerow serve epoch patients --reason "the rows of 2027"
    """
    service = read_config(config)
    from hedgerow.service.config import declare_epoch

    if dataset not in service.datasets:
        names = ", ".join(service.datasets)
        raise ArgumentError(f"the configuration has no dataset {shown(dataset)}; its datasets are {names}.")
    if not reason.strip():
        raise ArgumentError("--reason is empty; describe the new rows.")
    entry = service.datasets[dataset]
    with service.open_ledger() as ledger:
        before = ledger.epoch(dataset)
        if before is not None:
            say(f"epoch {before} of {dataset}, which ends:\n{ledger.account(dataset)}")
        say(f"its next epoch:\n{entry.cap.account}")
        say("The new budget is unspent. For a person with rows in both epochs, both caps add up.")
        if not yes and not typer.confirm(f"Are all rows of {dataset} new, or may rows in both be charged both caps?"):
            raise ArgumentError("no epoch was started; keep the rows of the current epoch.")
        number = declare_epoch(ledger, dataset, entry, reason, service.schema_of(entry).unit)
    say(f"epoch {number} of {dataset} was started; restart the service with the new rows")


@app.command("rotate")
def rotate(config: ConfigFile = CONFIG) -> None:
    """Replace the signing key and record this in the ledger.

    The public key file then contains the new key and all earlier keys, so that earlier receipts can still be verified.

    [bold]Example[/bold]: hedgerow serve rotate --config curator.yaml
    """
    service = read_config(config)
    from hedgerow.service.receipts import Signer

    if service.signing_key is None:
        raise ArgumentError(f"{config} names no signing key; add `signing_key: curator.key`.")
    before, new = Signer.load(service.signing_key), Signer.new()
    with service.open_ledger() as ledger:
        fresh = new.prepare(service.signing_key)
        ledger.rotate(before.name, new.name, new.public)
        fresh.replace(service.signing_key)
        sync_folder(service.signing_key)
    say(f"next: restart the service, which then signs receipts with key {new.name}")
    say(f"next: give {service.signing_key.with_suffix('.pub')} to everybody; it contains the new and earlier keys")


@app.command("approvals")
def approvals(
    approve: Annotated[
        list[int] | None, option("Approve the question with this number. Repeatable.", metavar="NUMBER")
    ] = None,
    refuse: Annotated[
        list[int] | None, option("Refuse the question with this number. Repeatable.", metavar="NUMBER")
    ] = None,
    withdraw: Annotated[
        list[int] | None, option("Withdraw the approval with this number. Repeatable.", metavar="NUMBER")
    ] = None,
    approved: Annotated[
        bool, option("List the newest valid approvals in place of waiting questions.", "--approved")
    ] = False,
    config: ConfigFile = CONFIG,
) -> None:
    """List the questions that wait for approval, and approve or refuse them.

    Questions are charged only after approval, and every decision is recorded in the ledger. A hypothesis is shown by
    its digest.

    A refused question can be approved later. A withdrawal stops questions that are not charged yet, but not a question
    that is already charged. With `approval: first`, an approval is valid for the current epoch only.

    [bold]Examples[/bold]:

    hedgerow serve approvals

    hedgerow serve approvals --approve 12 --refuse 13
    """
    configuration = read_config(config)
    from hedgerow.service.approvals import Approvals

    with configuration.open_ledger() as ledger:
        requests = Approvals(ledger.log)
        pairs = [(number, "approved") for number in approve or []]
        pairs += [(number, "refused") for number in refuse or []]
        pairs += [(number, "withdrawn") for number in withdraw or []]
        decisions: Any = dict(pairs)
        if len(decisions) < len(pairs):
            raise ArgumentError("a number was given twice, and nothing was decided; give each number once.")
        if decisions:
            requests.decide(decisions, by=f"the command line, uid {os.getuid()}")
        for request in requests.approved() if approved else requests.pending():
            say(request)


@keys_app.command("add")
def add_key(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of an analyst in the configuration, an auditor or a curator.")
    ],
    role: Annotated[str, option("Role: analyst, auditor or curator.")] = "analyst",
    days: Annotated[int | None, option("Days until the key expires.  \\[default: valid until revoked]")] = None,
    config: ConfigFile = CONFIG,
) -> None:
    """Create an API key and print it. It cannot be shown again.

    [bold]Example[/bold]: hedgerow serve key add ana --days 90
    """
    checked: Any = role
    with _keys(config) as keys:
        say(keys.add(name, checked, days))


@keys_app.command("revoke")
def revoke_key(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the person whose key is revoked.")],
    config: ConfigFile = CONFIG,
) -> None:
    """Revoke an API key. Its charges stay.

    [bold]Example[/bold]: hedgerow serve key revoke ana
    """
    with _keys(config) as keys:
        keys.revoke(name)
    say(f"the key of {name} was revoked; the charges of {name} stay")


@keys_app.command("list")
def list_keys(config: ConfigFile = CONFIG) -> None:
    """List the names with an API key, their roles and the dates when keys expire.

    [bold]Example[/bold]: hedgerow serve key list
    """
    with _keys(config) as keys:
        for caller, ends in keys.callers().items():
            say(f"{caller.name}  {caller.role}{f'  until {ends}' if ends else ''}")


def _keys(config: Path) -> Keys:
    service = read_config(config)
    from hedgerow.service.keys import Keys

    return Keys(service.ledger, service.timeouts.of_ledger)


def _serve_demo(address: Address, dashboard_address: Address) -> None:
    from hedgerow.service.server import demo_curator

    with tempfile.TemporaryDirectory(prefix="hedgerow-demo-") as folder:
        curator, keys, key = demo_curator(Path(folder))
        _run(
            curator,
            keys,
            keys.caller,
            address,
            dashboard_address,
            {"analyst_key": key, "ledger": f"{folder}/ledger.db"},
        )


def _serve_config(path: Path, address: Address, dashboard_address: Address, start: dict[str, bool]) -> None:
    from hedgerow.service.keys import Keys
    from hedgerow.service.monitoring import log_to_stderr
    from hedgerow.service.tokens import caller_by

    config = read_config(path)
    log_to_stderr()
    curator = config.open(**start)
    if start["accept_rollback"]:
        logging.getLogger("hedgerow.service").warning("the loss of entries was recorded. %s", _AFTER_ROLLBACK)
    keys = Keys(config.ledger, config.timeouts.of_ledger, curator.ledger.condition)
    _run(curator, keys, caller_by(keys, config.tokens), address, dashboard_address, {}, config.timeouts.stop)


def _run(
    curator: Any,
    keys: Keys,
    caller: Callable[[str], Any],
    address: Address,
    dashboard_address: Address,
    more: dict[str, str],
    stop: float = 30,
) -> None:
    from hedgerow.service.app import create_app
    from hedgerow.service.dashboard import create_dashboard, mount_dashboard
    from hedgerow.service.jobs import Jobs
    from hedgerow.service.monitoring import Metrics, Observed, log_start
    from hedgerow.service.server import serve as run

    jobs = Jobs(curator)
    metrics, app = Metrics(jobs, curator), create_app(curator, caller, jobs)
    mount_dashboard(app, curator.ledger, keys, secure=address.secure)
    dashboard, token = create_dashboard(curator.ledger, keys, metrics, curator.approvals)

    def ready(url: str, curator_url: str) -> None:
        log_start(curator, url)
        say(json.dumps({"url": url, **more, "curator_url": f"{curator_url}/?token={token}"}))

    try:
        run(Observed(app, metrics.count), address, dashboard, dashboard_address, ready, stop)
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
        problem = "the URL contains a password, which every user of this machine can read in the list of processes"
        raise ArgumentError(f"{problem}. Store the password in ~/.pgpass or $PGPASSWORD.")


def require_service() -> None:
    missing = [module for module in _REQUIRED if find_spec(module) is None]
    if missing:
        raise MissingPackageError.of("this command", " and ".join(missing), "service")
