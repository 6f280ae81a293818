"""Configuration of a service: a YAML or JSON file with its datasets and the caps of analysts."""

import stat
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from hedgerow.boundary.durable import check_closed
from hedgerow.engines.files import has_password, is_address
from hedgerow.engines.time_limits import TimeLimits
from hedgerow.errors import ArgumentError, LedgerError
from hedgerow.privacy.account import Account, Accounting
from hedgerow.privacy.amounts import exact
from hedgerow.privacy.budget import account_of
from hedgerow.privacy.unit import Unit
from hedgerow.schema.files import read_mapping
from hedgerow.schema.schema import Schema
from hedgerow.service.approvals import Approval
from hedgerow.service.curator import LONGEST_SEARCH, Curator, HostedDataset
from hedgerow.service.forms import StrictModel
from hedgerow.service.ledger.accounts import WHOLE
from hedgerow.service.ledger.database import LEDGER_LIMITS, head_beside
from hedgerow.service.ledger.ledger import Ledger
from hedgerow.service.quotas import MIB, Quota, Quotas
from hedgerow.service.receipts import Signer
from hedgerow.service.requests import Caller, Role
from hedgerow.service.rows import open_rows
from hedgerow.service.tokens import Tokens
from hedgerow.tables.table_files import DEFAULT_FORMAT, TextFormat
from hedgerow.text.messages import PlaceNote, shown

AmountValue = str | int | float


class Cap(StrictModel):
    """A cap, with the parameters of `hedgerow.Budget`."""

    epsilon: AmountValue | None = None
    delta: AmountValue = 0
    rho: AmountValue | None = None
    accounting: Accounting = "basic"

    @property
    def account(self) -> Account:
        return account_of(self.epsilon, self.delta, self.rho, self.accounting)


class DatasetConfig(StrictModel):
    """A dataset."""

    table: str = Field(min_length=1)
    schema_file: str = Field(alias="schema", min_length=1)
    cap: Cap
    analysts: dict[str, Cap]
    reason: str = Field("first rows", min_length=1)
    answer_after: float | int | None = Field(None, gt=0, le=3600)
    oversubscribed: bool = False
    approval: Approval = "off"
    min_epsilon: AmountValue | None = None
    encoding: str = DEFAULT_FORMAT.encoding
    decimal: str = DEFAULT_FORMAT.decimal
    delimiter: str | None = DEFAULT_FORMAT.delimiter
    thousands: str | None = DEFAULT_FORMAT.thousands
    skip_rows: int | None = DEFAULT_FORMAT.skip_rows
    skip_footer: int = DEFAULT_FORMAT.skip_footer

    @property
    def text_format(self) -> TextFormat:
        return TextFormat(**{field.name: getattr(self, field.name) for field in fields(TextFormat)})


class QuotaConfig(StrictModel):
    """Limits of an analyst; None uses the limits of all analysts."""

    questions: int | None = Field(None, ge=0)
    stored_mib: int | None = Field(None, ge=0)

    def quota(self, default: Quota) -> Quota:
        stored = default.stored_bytes if self.stored_mib is None else self.stored_mib * MIB
        return Quota(default.questions if self.questions is None else self.questions, stored)


class TokenSubject(StrictModel):
    """Caller that corresponds to a subject of the identity provider."""

    name: str = Field(min_length=1, max_length=200)
    role: Role = "analyst"


class TokensConfig(StrictModel):
    """Tokens of an identity provider."""

    issuer: str = Field(min_length=1)
    audience: str = Field(min_length=1)
    keys: str = Field(min_length=1)
    claim: str = "sub"
    callers: dict[str, TokenSubject]


class TimeoutsConfig(StrictModel):
    """Timeouts in seconds."""

    connect: float | int = Field(default=10, gt=0, le=600)  # timeout of connecting to the database of a table
    query: float | int = Field(default=600, gt=0, le=86_400)  # timeout of a query in this database
    lock: float | int = Field(default=10, gt=0, le=600)  # timeout of waiting for a lock in this database
    ledger: float | int = Field(default=15, gt=0, le=600)  # timeout of a query of a ledger in PostgreSQL
    stop: float | int = Field(default=30, gt=0, le=3600)  # timeout of questions in progress when the service stops
    search: float | int = Field(default=LONGEST_SEARCH, gt=0, le=600)  # expected time of the longest exact search

    @property
    def rows(self) -> TimeLimits:
        return TimeLimits(self.connect, self.query, self.lock)

    @property
    def of_ledger(self) -> TimeLimits:
        return TimeLimits(min(self.ledger, LEDGER_LIMITS.connect), self.ledger, min(self.ledger, LEDGER_LIMITS.lock))


class _ConfigFile(StrictModel):
    ledger: str = Field(min_length=1)
    head: str | None = None
    signing_key: str | None = None
    mark: str | None = None
    tokens: TokensConfig | None = None
    timeouts: TimeoutsConfig = TimeoutsConfig()
    quotas: QuotaConfig = QuotaConfig(questions=None, stored_mib=None)
    analyst_quotas: dict[str, QuotaConfig] = Field(default_factory=dict[str, QuotaConfig])
    disk_reserve_mib: int = Field(Quotas().disk_reserve // MIB, ge=0)
    datasets: dict[str, DatasetConfig] = Field(min_length=1)

    def all_quotas(self) -> Quotas:
        default = self.quotas.quota(Quota())
        analysts = {name: given.quota(default) for name, given in self.analyst_quotas.items()}
        return Quotas(default, analysts, self.disk_reserve_mib * MIB)


@dataclass(frozen=True)
class Config:
    """A configuration, with its paths made absolute."""

    ledger: str  # the URL of the ledger's database
    signing_key: Path | None  # the file with the curator's private key
    datasets: Mapping[str, DatasetConfig]  # the datasets by name
    folder: Path  # the directory of the file; paths are relative to it
    tokens: Tokens | None = None  # trust in tokens of an identity provider
    head: Path | None = None  # the file with the head of the ledger
    quotas: Quotas = field(default_factory=Quotas)
    mark: Path | None = None  # records that a ledger exists; by default next to the signing key
    timeouts: TimeoutsConfig = field(default_factory=TimeoutsConfig)

    @classmethod
    def read(cls, path: str | Path) -> "Config":
        folder, settings, problem = Path(path).absolute().parent, None, ""
        try:
            settings = _ConfigFile.model_validate(read_mapping(path))
        except ValidationError as error:
            problem = f"{path}: {_first_problem(error)}."
        if settings is None:
            raise ArgumentError(problem)
        check_closed(path, "a configuration", stat.S_IWOTH)
        keys = () if settings.tokens is None else (settings.tokens.keys,)
        if any(map(has_password, (settings.ledger, *keys, *(dataset.table for dataset in settings.datasets.values())))):
            check_closed(path, "a configuration with a password")
        for name in settings.datasets:
            if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or len(name) > 100:
                problem = f"{path}: the name of a dataset may contain letters, digits, - and _ only, got {shown(name)}."
                raise ArgumentError(problem)
        url = settings.ledger if "://" in settings.ledger else f"sqlite:///{folder / settings.ledger}"
        signing_key = None if settings.signing_key is None else folder / settings.signing_key
        head = folder / settings.head if settings.head else head_beside(url) or folder / "ledger.head"
        mark = signing_key and signing_key.with_name(f"{signing_key.name}-ledger")
        mark = folder / settings.mark if settings.mark else mark
        _check_analysts(path, settings)
        tokens, quotas = _tokens(settings.tokens, folder), settings.all_quotas()
        return cls(url, signing_key, settings.datasets, folder, tokens, head, quotas, mark, settings.timeouts)

    def open_ledger(self, *, new_ledger: bool = False, accept_rollback: bool = False) -> Ledger:
        start = {"new_ledger": new_ledger, "accept_rollback": accept_rollback}
        return Ledger(self.ledger, self.head, mark=self.mark, limits=self.timeouts.of_ledger, **start)

    def open(self, *, new_ledger: bool = False, accept_rollback: bool = False) -> Curator:
        """Open the ledger and all tables, check every row, and record new datasets and analysts.

        Verifies a SQLite ledger.
        """
        signer = None if self.signing_key is None else Signer.load(self.signing_key)
        ledger = self.open_ledger(new_ledger=new_ledger, accept_rollback=accept_rollback)
        try:
            if ledger.path is not None:
                # SQLite applies its log to the file, even if an older copy has replaced it. The result has the latest
                # head and may have older totals, which only the verification of all entries reveals.
                ledger.verify()
            if signer is not None:
                ledger.check_signer(signer.name)
            held = dict[str, HostedDataset]()
            for name, config in self.datasets.items():
                with _noting(name):
                    held[name] = self._held(config, ledger.epoch(name) or 1)
            for name, config in self.datasets.items():
                with _noting(name):
                    declare(ledger, name, config, held[name].schema.unit)
        except BaseException:
            ledger.close()
            raise
        return Curator(ledger, held, signer=signer, quotas=self.quotas)

    def schema_of(self, config: DatasetConfig) -> Schema:
        return Schema.load(self.folder / config.schema_file)

    def _held(self, config: DatasetConfig, epoch: int) -> HostedDataset:
        schema = self.schema_of(config)
        in_folder = not (is_address(config.table) and ("://" in config.table or "::" in config.table))
        table = str(self.folder / config.table) if in_folder else config.table
        rows = open_rows(table, schema, config.text_format, self.timeouts.rows)
        least = None if config.min_epsilon is None else exact(config.min_epsilon, "min_epsilon")
        return HostedDataset(
            schema.without_derivations,
            rows,
            config.answer_after,
            config.oversubscribed,
            config.approval,
            least,
            self.timeouts.search,
            epoch,
        )


def _first_problem(error: ValidationError) -> str:
    """Return the first problem of a configuration; for a misplaced key, with its correct place."""
    first = error.errors(include_input=False, include_url=False, include_context=False)[0]
    place, key = shown(".".join(map(str, first["loc"]))), first["loc"][-1]
    if first["type"] in ("model_type", "dict_type"):
        return f"{place}: expected keys with values, as in cap: {{epsilon: 4}}"
    if first["type"] != "extra_forbidden":
        return f"{place}: {first['msg']}"
    if key in _ConfigFile.model_fields and len(first["loc"]) > 1:
        return f"{place} is not a key of this section; move it to the top level, where it applies to all datasets"
    if key in DatasetConfig.model_fields:
        return f"{place} is not a key of this section; move it into each dataset to which it applies"
    return f"{place} is not a known key; correct its spelling or remove it"


@contextmanager
def _noting(dataset: str) -> Generator[None]:
    """Add the name of the dataset to errors."""
    try:
        yield
    except Exception as error:
        error.add_note(PlaceNote(f"dataset {dataset}"))
        raise


def _check_analysts(path: str | Path, settings: _ConfigFile) -> None:
    known = {name for dataset in settings.datasets.values() for name in dataset.analysts}
    for name in settings.analyst_quotas:
        if name not in known:
            problem = f"{path}: analyst_quotas: {shown(name)} is not an analyst of any dataset"
            raise ArgumentError(f"{problem}; the analysts are {', '.join(sorted(known))}.")


def _tokens(given: TokensConfig | None, folder: Path) -> Tokens | None:
    if given is None:
        return None
    callers = {subject: Caller(caller.name, caller.role) for subject, caller in given.callers.items()}
    keys = given.keys if "://" in given.keys else str(folder / given.keys)
    return Tokens(given.issuer, given.audience, keys, given.claim, callers)


def declare(ledger: Ledger, name: str, config: DatasetConfig, unit: Unit | None) -> None:
    """Declare a new dataset, and grant caps to new analysts."""
    caps = {WHOLE: config.cap.account, **{analyst: cap.account for analyst, cap in config.analysts.items()}}
    known = ledger.shares(name)
    if not known:
        declare_epoch(ledger, name, config, config.reason, unit)
        return
    ledger.check_unit(name, unit)
    for analyst, cap in caps.items():
        if analyst not in known:
            ledger.grant(name, analyst, cap, reason=config.reason)
        elif _caps(known[analyst]) != _caps(cap):
            owner = f"dataset {shown(name)}" if analyst == WHOLE else f"{shown(analyst)} in dataset {shown(name)}"
            raise LedgerError(
                f"the cap of {owner} is {_cap_text(known[analyst])} in the ledger, but {_cap_text(cap)} in the "
                "configuration. Caps cannot change within an epoch: restore the earlier cap. For new rows, start a new "
                "epoch: hedgerow serve epoch NAME --reason TEXT."
            )


def declare_epoch(ledger: Ledger, name: str, config: DatasetConfig, reason: str, unit: Unit | None) -> int:
    """Declare a new epoch with the caps of the configuration; return its number."""
    shares = {analyst: cap.account for analyst, cap in config.analysts.items()}
    oversubscribed = config.oversubscribed
    return ledger.declare(name, config.cap.account, shares, reason=reason, oversubscribed=oversubscribed, unit=unit)


def _cap_text(account: Account) -> str:
    """Return the exact caps of an account as text."""
    caps = [f"{name} {value}" for name in ("epsilon", "delta", "rho") if (value := getattr(account, name))]
    return f"{', '.join(caps)} with {account.accounting} accounting"


def _caps(account: Account) -> tuple[Any, ...]:
    return account.epsilon, account.delta, account.rho, account.accounting
