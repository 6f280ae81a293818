"""`hedgerow.connect`: a curator's service, the datasets that one may ask about there, and oracles of these."""

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
from hedgerow.client.answers import STAYS, Counts, Received, SentQuestion, is_public, read_budget, read_cost
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
from hedgerow.privacy.amounts import Amount, exact
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
_POLL, _LONGEST_POLL = 0.2, 2.0  # seconds between questions about a job, at first and at most
_JOB = re.compile(r"[\w-]{1,100}(\.[\w-]{1,300})?", re.ASCII)  # names of jobs
_UNFINISHED = ("queued", "running", "pending")  # states of a job without an answer yet


def connect(
    url: str, *, key: str, public_key: str | None = None, timeout: float = 120.0, job_timeout: float = 3600.0
) -> RemoteCurator:
    """Connect to a curator's service.

    Every answer is checked before it is used: that it is one to this question, about this dataset and epoch, that its
    counts are whole, and that its noise, its charge and its card are what the ε asked for implies. What no check can
    tell is whether the counts are those of the curator's rows.

    Parameters
    ----------
    url : str
        Where it is: ``https://…``, or ``http://`` on this machine.
    key : str
        Your API key, or a token of the identity provider that the curator trusts.
    public_key : str, optional
        The curator's public key, the text of ``curator.pub``, which you got from the curator and not from the service:
        answers without a receipt that it signed are refused. None: whoever answers at this URL is believed to be the
        curator, receipts are not held against a signature, and the cards of oracles say so.
    timeout : float, default=120
        How many seconds to wait for an answer before it is asked for again.
    job_timeout : float, default=3600
        How many seconds to wait for a fit that is queued or running. After that `ServiceError` is raised with the kind
        ``job-timeout``; the same fit, asked for again on this connection, goes on at no further charge.

    Raises
    ------
    ServiceError
        If the service cannot be reached, or does not know the key.
    ValueError
        If the URL is not one of these, or the public key is none.
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
    """A curator's service.

    With one dataset, everything that a `RemoteDataset` has can be asked of the curator itself.

    Attributes
    ----------
    datasets : tuple of str
        The names of the datasets that you may ask about.
    """

    def __init__(self, connection: Any, keys: tuple[Ed25519PublicKey, ...] = ()) -> None:
        super().__init__()
        self._connection, self._keys = connection, keys
        self._known = dict[str, RemoteDataset]()
        found = connection.get("/v1/datasets")
        if not (isinstance(found, list) and all(isinstance(name, str) for name in found)):
            raise ServiceError("expected the names of datasets from the service, got another answer.")
        self.datasets: tuple[str, ...] = tuple(found)

    def __getitem__(self, name: str) -> RemoteDataset:
        """Return a dataset by its name; ValueError if there is none that you may ask about."""
        if name not in self.datasets:
            raise ArgumentError(f"expected one of the datasets {', '.join(self.datasets)}, got {shown(name)}.")
        if name not in self._known:
            self._known[name] = RemoteDataset(self._connection, name, self._keys)
        return self._known[name]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if len(self.datasets) != 1:
            names = ", ".join(map(repr, self.datasets)) or "none that you may ask about"
            raise AttributeError(f"name a dataset first, as curator[NAME]; there are: {names}")
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
    """A dataset whose rows stay with their curator.

    Attributes
    ----------
    name : str
        Its name.
    description : dict
        What is public of it, as the service tells.
    schema : Schema
        The public schema, with the label.
    epoch : int
        Which rows of the dataset are asked about: the service charges nothing for those of another epoch.
    receipts : list of str
        The curator's signed receipts of what was answered, the last one last; empty where it does not sign.
    """

    def __init__(self, connection: Any, name: str, keys: tuple[Ed25519PublicKey, ...] = ()) -> None:
        super().__init__()
        self.name = name
        self.receipts: list[str] = []
        self._connection, self._path, self._keys = connection, f"/v1/datasets/{name}", keys
        self._requests = set[str]()  # that were answered
        self.description: dict[str, Any] = connection.get(self._path)
        self.schema, self.epoch = _described(self.description, name)

    @property
    def budget(self) -> dict[str, Any]:
        """Your cap, what was charged to it and what is left, as exact text: ``budget["epsilon"]["left"]``."""
        return read_budget(self._connection.get(f"{self._path}/budget"))

    def dummy(self, n_rows: int = 100, seed: int = 0) -> Any:
        """Return made-up rows as a pandas frame, label included, drawn here from the schema alone. Free."""
        import pandas as pd

        frame = pd.DataFrame(dummy_rows(self.schema, n_rows, seed))
        columns = zip(self.schema.attributes, self.description["kinds"], strict=True)
        dates = [name for (name, attribute), kind in columns if isinstance(attribute, Date) and kind == "numbers"]
        return frame.astype(dict.fromkeys(dates, "datetime64[s]"))  # as text they would be binned as categories

    def cost(self, estimator: Any) -> dict[str, Any]:
        """Return what a fit would cost, whether that is left, and how long its search takes. Free."""
        return self._cost("fits", self._fit_question(estimator))

    def oracle(self, max_queries: int = 3, *, epsilon: Amount, delta: Amount = 0) -> RemoteOracle:
        """Return an oracle that asks up to `max_queries` questions, an equal share of ε and δ each.

        Parameters
        ----------
        max_queries : int, default=3
            How many questions.
        epsilon, delta : float, Fraction, Decimal or str
            For all of them together, in range, else ValueError; with a δ the noise is Gaussian.
        """
        questions, total = check_integer("max_queries", max_queries, 1), exact(epsilon, "epsilon")
        if not total:
            raise ArgumentError("epsilon must be a number > 0, got 0.")
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
        """Have a private estimator fitted at the curator's; return its model, with the card.

        Parameters
        ----------
        estimator : PrivateRuleListClassifier, PrivateTreeClassifier or PrivateScorecardClassifier
            Or the regressor of the same kind. Its parameters are what is asked for. Leave out `schema`: it is the
            curator's; or give one with fewer of its attributes.

        Raises ServiceError if the service refuses, or cannot be reached: the same fit, asked for again, is charged
        once. TypeError or ValueError for another estimator, or parameters that are the curator's to set.
        """
        found = self._ask("fits", self._fit_question(estimator)).found
        assert not isinstance(found, Counts)
        return found

    def answer(self, kind: str, question: dict[str, Any], key: str | None = None) -> bytes:
        """Return the answer to a question in the service's own form, as the receipt signs it: JSON; raises as `fit`.

        With an idempotency `key` of your own, kept elsewhere, another connection gets the same answer by it.
        """
        return self._ask(kind, question, key).content

    def _counts(self, kind: str, question: dict[str, Any]) -> Counts:
        found = self._ask(kind, question).found
        assert isinstance(found, Counts)
        return found

    def _ask(self, kind: str, question: dict[str, Any], key: str | None = None) -> Received:
        """Return the checked answer to a question; one that does not pass can be asked for again at no charge."""
        body = body_of(question := {**question, "epoch": self.epoch})
        asked = SentQuestion(self.name, self.epoch, self.schema, kind, question, body, self._keys)

        def read(send: Callable[[], httpx2.Response]) -> Received:
            response = self._awaited(send) if kind == "fits" else send()
            found = asked.read(self._connection.json(response), response.content, response.headers.get(RECEIPT, ""))
            if found.request in self._requests:
                raise ServiceError("expected a new answer from the service, got an earlier one" + STAYS)
            return found

        found = self._connection.ask(f"{self._path}/{kind}", body, read, key)
        self._requests.add(found.request)
        self.receipts += [found.receipt] if found.receipt else []
        return found

    def _awaited(self, send: Callable[[], httpx2.Response]) -> httpx2.Response:
        """Send a fit, and again with its key if the service has lost its job; return the answer of the job.

        A service that is restarted meanwhile may be out of reach for `timeout` seconds.
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
        problem = f"the fit has no answer after {self._connection.job_timeout:g} seconds, and may be charged"
        raise ServiceError(
            f"{problem}; ask the same again on this connection to go on, which costs nothing twice.", kind="job-timeout"
        )

    def _cost(self, kind: str, question: dict[str, Any]) -> dict[str, Any]:
        return read_cost(self._connection.post(f"{self._path}/cost", {"question": kind, **question}), kind)

    def _fit_question(self, estimator: Any) -> dict[str, Any]:
        learners = learners_of(self.schema.target)
        estimators = {kind: getattr(learn, learner.estimator) for kind, learner in learners.items()}
        kind = next((name for name, one in estimators.items() if type(estimator) is one), None)
        if kind is None:
            names = ", ".join(one.__name__ for one in estimators.values())
            raise ArgumentTypeError(f"expected one of {names}, got {type(estimator).__name__}.")
        given, default = estimator.get_params(), type(estimator)().get_params()
        for name in ("budget", "random_state"):
            if given[name] is not None:
                raise ArgumentError(f"leave {name} out: the curator sets it.")
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
        raise ArgumentError("expected schema=None, or one with attributes of the curator's schema, got another.")

    def __repr__(self) -> str:
        return f"<RemoteDataset {shown(self.name)} of {number_of(len(self.schema), 'attribute')}>"


@dataclass(frozen=True)
class _Job:
    """A job, as the service describes it."""

    path: str
    state: str
    has_problem: bool


def _job(found: Any) -> _Job:
    name, state = (found.get("job"), found.get("state")) if isinstance(found, dict) else (None, None)
    if isinstance(name, str) and isinstance(state, str) and _JOB.fullmatch(name):
        return _Job(f"/v1/jobs/{name}", state, "problem" in found)
    raise ServiceError("expected a job with its name and state from the service, got another answer.")


_OF_COLUMNS = ("schema", "columns", "kinds")  # entries of a description that are compared with the schema


def _described(found: Any, name: str) -> tuple[Schema, int]:
    """Return the schema and the epoch of a description; raises ServiceError for one that contradicts itself."""
    try:
        schema, epoch = Schema.from_dict(found["schema"]), found["epoch"]
        agree = (found["dataset"], found["unit"]) == (name, None if schema.unit is None else schema.unit.to_dict())
        columns, kinds = found["columns"], found["kinds"]
        known = columns == list(schema.names) and {*kinds} <= {"boolean", "numbers", "text"}
        known = known and is_public({name: value for name, value in found.items() if name not in _OF_COLUMNS})
        if agree and known and len(kinds) == len(columns) and type(epoch) is int and schema.label is not None:
            return schema, epoch
    except (ValueError, KeyError, TypeError, AttributeError):
        pass
    raise ServiceError("expected the description of the dataset from the service, got another answer.")


Ask = Callable[[str, dict[str, Any]], Counts]
TryOut = Callable[[str, dict[str, Any]], Any]


class RemoteOracle(LimitedOracle[RowCounts, ErrorCounts]):
    """An oracle that asks a curator's service: learners take it as they take `hedgerow.Oracle`.

    Every question is charged at the curator's before a row is touched there, an equal share of ε and δ each.
    Neighbouring tables differ by one row, which is in one bin of each of d attributes: a question has the ℓ1
    sensitivity d; or by all rows of a unit, of which as many count as it may have, each of them so.

    Parameters
    ----------
    ask, try_out : callable
        Send a question of a kind: one is charged, and returns the answer, which was checked; the other is free.
    columns, kinds : tuple of str
        The names of the target's columns, and of each: ``boolean``, ``numbers`` or ``text``.
    label : Target
        The name of the labels, and the classes or the number.
    epsilon, delta, max_queries : Fraction, Fraction, int
        For all questions together, and how many there are.
    unit : Unit, optional
        What the curator protects; None for one row.
    adds_up_rho : bool, default=True
        Whether charges of the dataset are added up in ρ, as its description states: then attributes share no noise.
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
        """Privacy card of all that was charged so far, at the curator's and before."""
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
        """Ask the service whether `error_marginals` can be asked about a hypothesis. Free; raises as it does."""
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
