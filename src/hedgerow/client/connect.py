"""`hedgerow.connect`: a connection to a service, its datasets, and oracles that ask about them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from hedgerow import learn
from hedgerow.boundary.arguments import check_integer
from hedgerow.boundary.signatures import public_keys
from hedgerow.client.answers import KINDS, STAYS, Counts, Received, SentQuestion, is_public, read_budget, read_cost
from hedgerow.client.http import RECEIPT, UNREACHABLE, Connection
from hedgerow.client.question_files import body_of
from hedgerow.errors import ArgumentError, ArgumentTypeError, OracleExhaustedError, ServiceError
from hedgerow.hypotheses import Hypothesis, TargetColumns
from hedgerow.hypotheses.onnx_write import hypothesis_data
from hedgerow.hypotheses.read import HypothesisCharges, charges_of
from hedgerow.learn.learners import learners_of
from hedgerow.models.decisions import by_text, cost_matrix
from hedgerow.models.model import Model
from hedgerow.oracle.answers import PARTS, ErrorCounts, RowCounts, answer_of
from hedgerow.oracle.base_oracle import LimitedOracle
from hedgerow.oracle.binning import plain_bins
from hedgerow.oracle.release_forms import AnswerPlan, denied
from hedgerow.privacy.amounts import Amount, exact, positive
from hedgerow.privacy.card import PrivacyCard
from hedgerow.privacy.charge import Charge, renewed
from hedgerow.privacy.facts import Fact
from hedgerow.privacy.process import ProcessBound, read_only
from hedgerow.privacy.unit import Unit
from hedgerow.schema.dates import Date
from hedgerow.schema.dummy import dummy_rows
from hedgerow.schema.schema import Schema
from hedgerow.schema.targets import Target
from hedgerow.text.messages import number_of, shown

if TYPE_CHECKING:
    import httpx2
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_NOT_SENT = ("epsilon", "delta", "schema", "budget", "random_state", "verbose")
_POLL, _LONGEST_POLL = 0.2, 2.0  # seconds between polls of a job, at first and at most
_JOB = re.compile(r"[\w-]{1,100}(\.[\w-]{1,300})?", re.ASCII)  # names of jobs
_UNFINISHED = ("queued", "running", "pending")  # states of a job without an answer


def connect(
    url: str, *, key: str, public_key: str | None = None, timeout: float = 120.0, job_timeout: float = 3600.0
) -> RemoteCurator:
    """Connect to a service that answers questions about a curator's private tables.

    Every answer is checked before it is returned: it must belong to this question, dataset and epoch, its counts must
    be whole numbers, and its noise, charge and privacy card must match the requested ε. No check can show that the
    counts were computed from the curator's rows.

    Parameters
    ----------
    url : str
        The URL of the service: ``https://…``, or ``http://…`` on this machine.
    key : str
        Your API key, or a token of an identity provider that the service trusts.
    public_key : str, optional
        The curator's public key: the text of ``curator.pub``, obtained from the curator and not from the service.
        Answers without a receipt signed by this key raise `ServiceError`. None: the signatures of receipts are not
        verified, so the sender of answers is unknown; the privacy cards of oracles state this.
    timeout : float, default=120
        Seconds to wait for an answer before the request is repeated.
    job_timeout : float, default=3600
        Seconds to wait for a fit that is queued or running. After that, `ServiceError` is raised with the kind
        ``job-timeout``. To continue without a further charge, request the same fit again on this connection.

    Raises
    ------
    ServiceError
        If the service cannot be reached, or the key is not valid.
    ValueError
        If the URL is not supported, or the public key is not valid.
    ImportError
        If the extra ``client`` is not installed.
    """
    keys = () if public_key is None else public_keys(public_key)
    connection = Connection(url, key, timeout, job_timeout)
    try:
        return RemoteCurator(connection, keys)
    except BaseException:
        connection.close()
        raise


class RemoteCurator(ProcessBound):
    """Connection to a service.

    If there is a single dataset, the attributes and methods of its `RemoteDataset` are available here, too.

    Attributes
    ----------
    datasets : tuple of str
        The names of the datasets that you may ask about.
    """

    def __init__(self, connection: Any, keys: tuple[Ed25519PublicKey, ...] = ()) -> None:
        super().__init__()
        self._connection, self._keys = connection, keys
        self._known = dict[str, RemoteDataset]()
        datasets = connection.get("/v1/datasets")
        if not (isinstance(datasets, list) and all(isinstance(name, str) for name in datasets)):
            raise ServiceError("the service sent a response that is not a list of datasets.")
        self.datasets: tuple[str, ...] = tuple(datasets)

    def __getitem__(self, name: str) -> RemoteDataset:
        """Return a dataset by its name; raise `ValueError` if you have no access to a dataset of this name."""
        if name not in self.datasets:
            raise ArgumentError(
                f"{shown(name)} is not a dataset that you may ask about; these are {', '.join(self.datasets)}."
            )
        if name not in self._known:
            self._known[name] = RemoteDataset(self._connection, name, self._keys)
        return self._known[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if len(self.datasets) != 1:
            names = ", ".join(map(repr, self.datasets)) or "none"
            raise AttributeError(f"select a dataset first, as curator[NAME]; your datasets: {names}")
        return getattr(self[self.datasets[0]], name)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteCurator of {', '.join(self.datasets) or 'no dataset that you may ask about'}>"


class RemoteDataset(ProcessBound):
    """Dataset of a service.

    Attributes
    ----------
    name : str
        The name.
    description : dict
        The public description that the service sends.
    schema : Schema
        The public schema, with the label.
    epoch : int
        The number of the current epoch. The service answers and charges questions about this epoch only.
    receipts : list of str
        The signed receipts of answers, in order; empty if the service does not sign.
    """

    def __init__(self, connection: Any, name: str, keys: tuple[Ed25519PublicKey, ...] = ()) -> None:
        super().__init__()
        self.name = name
        self.receipts: list[str] = []
        self._connection, self._path, self._keys = connection, f"/v1/datasets/{name}", keys
        self._requests = set[str]()  # answered requests
        self.description: dict[str, Any] = connection.get(self._path)
        self.schema, self.epoch = _described(self.description, name)

    @property
    def budget(self) -> dict[str, Any]:
        """Your cap, its charges and the remaining budget, as exact text: ``budget["epsilon"]["left"]``."""
        return read_budget(self._connection.get(f"{self._path}/budget"))

    def dummy(self, n_rows: int = 100, seed: int = 0) -> Any:
        """Return random rows with labels as a pandas frame, generated locally from the schema. Charges no budget."""
        import pandas as pd

        frame = pd.DataFrame(dummy_rows(self.schema, n_rows, seed))
        columns = zip(self.schema.attributes, self.description["kinds"], strict=True)
        dates = [name for (name, attribute), kind in columns if isinstance(attribute, Date) and kind == "numbers"]
        return frame.astype(dict.fromkeys(dates, "datetime64[s]"))  # as text they would be binned like categories

    def cost(self, estimator: Any) -> dict[str, Any]:
        """Return the cost of a fit, whether enough budget is left, and its run time. Charges no budget."""
        return self._cost("fits", self._fit_question(estimator))

    def oracle(self, max_queries: int = 3, *, epsilon: Amount, delta: Amount = 0) -> RemoteOracle:
        """Return an oracle that asks up to `max_queries` questions, each with an equal share of ε and δ.

        Parameters
        ----------
        max_queries : int, default=3
            The number of questions.
        epsilon, delta : float, Fraction, Decimal or str
            The budget of all questions together; with δ > 0 the noise is Gaussian.
        """
        questions, total = check_integer("max_queries", max_queries, 1), positive(epsilon, "epsilon")
        return RemoteOracle(
            self._counts,
            self._cost,
            tuple(self.description["columns"]),
            tuple(self.description["kinds"]),
            self.schema.target,
            epsilon=total,
            delta=exact(delta, "delta"),
            max_queries=questions,
            unit=self.schema.unit,
            adds_up_rho=self.description.get("adds_up_rho", True),
        )

    def fit(self, estimator: Any) -> Model:
        """Fit a private estimator on the rows of the service; return its model with the privacy card.

        Parameters
        ----------
        estimator : PrivateRuleListClassifier, PrivateTreeClassifier or PrivateScorecardClassifier
            Or the regressor of the same kind, with the parameters of the fit. Leave out `schema`, or give a schema
            with some of the attributes of the dataset.

        Raises
        ------
        ServiceError
            If the service refuses the fit or cannot be reached. Requesting the same fit again is not charged twice.
        TypeError, ValueError
            If the estimator is not supported, or has parameters that only the curator can set.
        """
        model = self._ask("fits", self._fit_question(estimator)).result
        assert not isinstance(model, Counts)
        return model

    def answer(self, kind: str, question: dict[str, Any], key: str | None = None) -> bytes:
        """Return the answer to a question as the JSON that the receipt signs; raise the errors of `fit`.

        `kind` is the last part of the path of a question, such as ``marginals``. With an idempotency `key` of your own,
        another connection can get the same answer.
        """
        return self._ask(kind, question, key).content

    def _counts(self, kind: str, question: dict[str, Any]) -> Counts:
        counts = self._ask(kind, question).result
        assert isinstance(counts, Counts)
        return counts

    def _ask(self, kind: str, question: dict[str, Any], key: str | None = None) -> Received:
        """Return the checked answer to a question; after a failed check it can be requested again, free."""
        body = body_of(question := {**question, "epoch": self.epoch})
        sent = SentQuestion(self.name, self.epoch, self.schema, kind, question, body, self._keys)

        def read(send: Callable[[], httpx2.Response]) -> Received:
            response = self._awaited(send) if KINDS[kind].is_job else send()
            answer = sent.read(self._connection.json(response), response.content, response.headers.get(RECEIPT, ""))
            if answer.request in self._requests:
                raise ServiceError("the service sent the answer to an earlier question again" + STAYS)
            return answer

        received = self._connection.ask(f"{self._path}/{kind}", body, read, key)
        self._requests.add(received.request)
        self.receipts += [received.receipt] if received.receipt else []
        return received

    def _awaited(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        """Send a fit, wait for its job, and return the answer.

        The fit is sent again with its key if the service has lost the job. While waiting, the service may be
        unreachable for `timeout` seconds, as during a restart.
        """
        ends, pause, job = time.monotonic() + self._connection.job_timeout, _POLL, None
        away_until = float("-inf")
        while time.monotonic() < ends:
            try:
                job = _job(self._connection.json(send() if job is None else self._connection.read(job.path)))
                away_until = time.monotonic() + self._connection.timeout
                if job.state not in _UNFINISHED or job.has_problem:
                    return self._connection.read(f"{job.path}/answer")
                job = None if job.state == "pending" else job
            except ServiceError as error:
                is_lost = error.kind in ("unknown-job", "still-running")
                is_away = error.kind == UNREACHABLE and time.monotonic() < away_until
                if not (is_lost or is_away):
                    raise
                job = None if is_lost else job
            time.sleep(pause)
            pause = min(1.1 * pause, _LONGEST_POLL)
        problem = f"the fit was not finished after {self._connection.job_timeout:g} seconds, and may be charged"
        advice = "to continue, request the same fit again on this connection, which is not charged twice"
        raise ServiceError(f"{problem}; {advice}.", kind="job-timeout")

    def _cost(self, kind: str, question: dict[str, Any]) -> dict[str, Any]:
        return read_cost(self._connection.post(f"{self._path}/cost", {"question": kind, **question}), kind)

    def _fit_question(self, estimator: Any) -> dict[str, Any]:
        learners = learners_of(self.schema.target)
        estimators = {kind: getattr(learn, learner.estimator) for kind, learner in learners.items()}
        kind = next((name for name, supported in estimators.items() if type(estimator) is supported), None)
        if kind is None:
            names = " or ".join(supported.__name__ for supported in estimators.values())
            raise ArgumentTypeError(f"estimator must be a {names}, got {type(estimator).__name__}.")
        given, default = estimator.get_params(), type(estimator)().get_params()
        for name in ("budget", "random_state"):
            if given[name] is not None:
                raise ArgumentError(
                    f"{name} cannot be set for a remote fit, because only the curator can set it; leave it out."
                )
        question = {"model": kind, "epsilon": str(exact(given["epsilon"] or 0, "epsilon"))}
        if given.get("delta"):
            question["delta"] = str(exact(given["delta"], "delta"))
        changed = {name: v for name, v in given.items() if name not in _NOT_SENT and v != default[name]}
        priced = {name: v for name, v in changed.items() if name in ("class_weight", "costs")}
        if all(isinstance(v, Mapping) for v in priced.values()) and priced:
            cost_matrix(self.schema.classes, **{"class_weight": None, "costs": None, **priced})
            changed |= {name: by_text(v) for name, v in priced.items()}
        return {**question, **self._attributes(given["schema"]), "parameters": changed}

    def _attributes(self, schema: Any) -> dict[str, Any]:
        if schema is None or schema == self.schema:
            return {}
        known = dict(self.schema.attributes)
        if isinstance(schema, Schema) and all(known.get(name) == kind for name, kind in schema.attributes):
            return {"attributes": list(schema.names)}
        raise ArgumentError("schema must be None or contain only attributes of the dataset's schema, unchanged.")

    def __repr__(self) -> str:
        return f"<RemoteDataset {shown(self.name)} of {number_of(len(self.schema), 'attribute')}>"


@dataclass(frozen=True)
class _Job:
    """Job of the service."""

    path: str
    state: str
    has_problem: bool


def _job(data: Any) -> _Job:
    name, state = (data.get("job"), data.get("state")) if isinstance(data, dict) else (None, None)
    if isinstance(name, str) and isinstance(state, str) and _JOB.fullmatch(name):
        return _Job(f"/v1/jobs/{name}", state, "problem" in data)
    raise ServiceError("the service sent a response that is not a job with a name and a state.")


_OF_COLUMNS = ("schema", "columns", "kinds")  # entries of a description that are checked against the schema


def _described(data: Any, name: str) -> tuple[Schema, int]:
    """Return the schema and the epoch of a description; raise `ServiceError` if it is inconsistent."""
    try:
        schema, epoch = Schema.from_dict(data["schema"]), data["epoch"]
        agree = (data["dataset"], data["unit"]) == (name, None if schema.unit is None else schema.unit.to_dict())
        columns, kinds = data["columns"], data["kinds"]
        known = columns == list(schema.names) and {*kinds} <= {"boolean", "numbers", "text"}
        known = known and is_public({name: value for name, value in data.items() if name not in _OF_COLUMNS})
        if agree and known and len(kinds) == len(columns) and type(epoch) is int and schema.label is not None:
            return schema, epoch
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ServiceError("the service sent a response that is not a valid description of the dataset.")


Ask = Callable[[str, dict[str, Any]], Counts]
TryOut = Callable[[str, dict[str, Any]], Any]


class RemoteOracle(LimitedOracle[RowCounts, ErrorCounts]):
    """Oracle that asks a service; learners accept it in place of `hedgerow.Oracle`.

    The service charges each question, an equal share of ε and δ, before it reads rows. Neighbouring tables differ in a
    row, which is in a single bin of each of d attributes, so a question has ℓ1 sensitivity d. If the dataset has a
    unit, neighbouring tables differ in all rows of a unit, and the sensitivity is d times the row limit of the unit.

    Parameters
    ----------
    ask, try_out : callable
        Functions that send a question of a kind: `ask` is charged and returns the checked answer; `try_out` is free.
    columns, kinds : tuple of str
        The names of the table's columns, and their kinds: ``boolean``, ``numbers`` or ``text``.
    label : Target
        The name of the labels, and the classes or the number.
    epsilon, delta, max_queries : Fraction, Fraction, int
        The budget of all questions together, and their number.
    unit : Unit, optional
        The unit of privacy; None for a row.
    adds_up_rho : bool, default=True
        Whether the service adds up charges in ρ, as the description of the dataset states. Attributes then have
        separate noise.
    """

    columns: tuple[str, ...] = read_only("_columns", "The names of the target's columns.")
    kinds: tuple[str, ...] = read_only("_kinds", "Kind of each column: ``boolean``, ``numbers`` or ``text``.")

    def __init__(
        self,
        ask: Ask,
        try_out: TryOut,
        columns: tuple[str, ...],
        kinds: tuple[str, ...],
        label: Target,
        *,
        epsilon: Fraction,
        delta: Fraction,
        max_queries: int,
        unit: Unit | None = None,
        adds_up_rho: bool = True,
    ) -> None:
        super().__init__(max_queries)
        self._send, self._try_out = ask, try_out
        self._columns, self._kinds, self._label = columns, kinds, label
        self._release, self._unit = "gaussian" if delta else "counts", unit
        self._plan = AnswerPlan(self._release, epsilon / max_queries, delta / max_queries, 1, unit, adds_up_rho)
        self._cards = list[PrivacyCard]()

    @property
    def privacy(self) -> PrivacyCard:
        """Privacy card of all charges so far, including earlier charges of hypotheses and bins."""
        if not self._cards:
            return PrivacyCard.none(Fact("nothing_answered"))
        last = self._cards[-1]
        charges = tuple(made for _, made in self._charges.values())
        notes, reserve = (*last.notes, *denied(self._denials)), self._plan.reserve(self.queries_left, self._reserves)
        return PrivacyCard(charges, last.noise, last.software, last.no_guarantee, notes, reserve)

    def noise_scale(self, sizes: Sequence[int]) -> float:
        """Return λ for attributes with these numbers of bins: ``√2·λ`` is the standard deviation of the noise.

        It is the noise on a count, as an average over attributes.
        """
        return self._plan.noise(1, sizes).scale

    def check(self, bins: Schema, hypothesis: Hypothesis) -> None:
        """Check with the service that `error_marginals` supports a hypothesis; charges no budget."""
        question = self._question(plain_bins(bins), hypothesis=self._sent(hypothesis))
        self._try_out("error-marginals", question)

    def _ask(self, by: str, bins: Schema, hypothesis: Any = None) -> Any:
        bins, paid = plain_bins(bins), HypothesisCharges()
        if by == "errors":
            sent = self._sent(hypothesis)
            paid = charges_of(hypothesis)
            answer = self._answer("error-marginals", bins, paid, hypothesis=sent)
        else:
            answer = self._answer("marginals", bins, paid, by=by)
        numbers = [answer.counts[part] for part in PARTS[by]]
        return answer_of(by, bins, numbers, answer.noise, self.label.steps)

    def _sent(self, hypothesis: Hypothesis) -> dict[str, Any]:
        return hypothesis_data(hypothesis, TargetColumns(self._columns, self._kinds, named=True), self.classes)

    def _question(self, bins: Schema, **more: Any) -> dict[str, Any]:
        amounts = {"epsilon": str(self._plan.epsilon), "delta": str(self._plan.delta)}
        return {**amounts, "bins": bins.to_dict()["attributes"], **more}

    def _answer(self, kind: str, bins: Schema, paid: HypothesisCharges, **more: Any) -> Counts:
        self.check_process()
        with self._lock:
            if not self.queries_left:
                raise OracleExhaustedError(self._max_queries)
            planned = Charge(Fact("planned"), self._plan.epsilon, unit=self._unit)
            charges, reserves = self._prior_costs(self._plan, planned, bins, paid)
            answer = self._send(kind, self._question(bins, **more))
            self._asked += 1
            self._cards.append(answer.card)
            own = renewed(answer.charge, no_guarantee=bins.no_guarantee)
            self._record([(answer.charge, own), *charges], reserves, paid.denials)
            return answer

    def __repr__(self) -> str:
        return (
            f"<RemoteOracle of {number_of(len(self._columns), 'column')}, {self.queries_left} of "
            f"{number_of(self._max_queries, 'question')} left>"
        )
