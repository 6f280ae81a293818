"""Attacks attached to a report, each bound to the learner of the model and to the rows. **Private**."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from hedgerow.audit import AttackRecord, AttackSubject
from hedgerow.audit.attack_record import AttackKind, record_of
from hedgerow.audit.attack_subject import learner_facts, row_texts, tables_digest
from hedgerow.audit.inference.labelled import LabelledRows
from hedgerow.boundary.canonical import canonical
from hedgerow.errors import ArgumentError, HedgerowError
from hedgerow.privacy.amounts import total
from hedgerow.report.comparisons import Pair
from hedgerow.report.subject import Subject
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

TableMatch = Literal["training", "all", "made", "not_compared"]
_MOST_ATTACKS = 20
_FEWEST_HELD_OUT = 20  # held-out rows; a smaller number may all be among the training rows by chance
_IN_WORDS = ("text", "as_stated")  # mechanisms of cards that were not made by a fit


@dataclass(frozen=True)
class Attached:
    """An attack on the learner of the model, with the table that was attacked. **Private**."""

    record: AttackRecord
    table: TableMatch
    result: object = None  # as given

    @property
    def kind(self) -> AttackKind:
        return self.record.kind

    def value(self, code: Any) -> float:
        """Return the value of a measure; 0 if the record does not have it."""
        measure = self.record.measure(code)
        return 0.0 if measure is None else float(measure.value)


def attached(attacks: object, subject: Subject, train: Pair | None, test: Pair | None) -> tuple[Attached, ...]:
    """Return the attacks, each checked to be on the learner of the model and on the rows.

    Raises
    ------
    ValueError
        If an attack is on another learner, for another ε, or on other rows.
    TypeError
        If an element is not a result of an attack.
    """
    given: Sequence[object] = () if attacks is None else attacks if isinstance(attacks, list | tuple) else (attacks,)
    if len(given) > _MOST_ATTACKS:
        raise ArgumentError(f"A report takes at most {_MOST_ATTACKS} attacks, got {len(given)}.")
    records = tuple(map(record_of, given))
    if any(record in records[:place] for place, record in enumerate(records)):
        raise ArgumentError("The same attack was given twice; each attack must be given once.")
    for record in records:
        _check_learner(record.subject, subject)
    return tuple(
        Attached(record, _table(record, subject, train, test), result)
        for record, result in zip(records, given, strict=True)
    )


def check_held_out(train: Pair | None, test: Pair | None) -> None:
    """Check that held-out rows are not training rows, which would hide all overfitting.

    Suppose that at least half of the training rows differ from all other rows. The probability that 20 new rows are all
    among them by chance is then about one in a million.
    """
    if train is None or test is None or len(LabelledRows.of(*test)) < _FEWEST_HELD_OUT:
        return
    ours, others = (_row_counts(pair) for pair in (train, test))
    single = sum(rows == 1 for rows in ours.values())
    if others and others <= ours and 2 * single >= ours.total():
        raise ArgumentError(
            "All held-out rows (test=, --test) are among the training rows; pass rows that the model was not learned "
            "from."
        )


def _row_counts(pair: Pair) -> Counter[str]:
    """Return the number of rows with the same values and label, for each row; empty if a column cannot be compared."""
    try:
        return Counter(row_texts(LabelledRows.of(*pair)))
    except HedgerowError:
        return Counter()


class _Fact(NamedTuple):
    name: str
    of_model: str
    of_attack: str


def _check_learner(attacked: AttackSubject, subject: Subject) -> None:
    """Raise ArgumentError if known facts about the model contradict the learner of an attack."""
    facts = [*_card_facts(attacked, subject), *_estimator_facts(attacked, subject)]
    for fact in facts:
        if fact.of_model != fact.of_attack:
            model, attack = f"{fact.name} = {fact.of_model}", f"{fact.name} = {printable(fact.of_attack)}"
            raise ArgumentError(f"The attack is on another learner, with {attack}; this model has {model}.")


def _card_facts(attacked: AttackSubject, subject: Subject) -> Iterator[_Fact]:
    """Yield the facts that the card and the content of a model state about its learner."""
    card, released = subject.card, subject.released
    epsilon, delta = (_own_amount(subject, name) for name in ("epsilon", "delta"))
    if card.is_private or attacked.epsilon is not None:
        yield _Fact("epsilon", _amount(epsilon), _amount(attacked.epsilon))
        yield _Fact("delta", _amount(delta), _amount(attacked.delta))
    if released is None:
        return
    if attacked.kind is not None:
        yield _Fact("kind of model", released.kind, attacked.kind)
    if attacked.schema is not None:
        yield _Fact("schema", released.schema.digest, attacked.schema)
    own = [charge.mechanism for charge in card.charges[len(released.schema.charges) :]][:1]
    for mechanism in own:
        if attacked.mechanism is not None and mechanism is not None and mechanism.code not in _IN_WORDS:
            yield _Fact("mechanism", canonical(mechanism.to_dict()), attacked.mechanism)


def _own_amount(subject: Subject, name: Literal["epsilon", "delta"]) -> Fraction | None:
    """Return the ε or δ of the fit alone, without the charges of the schema."""
    whole: Fraction | None = getattr(subject.card, name)
    if whole is None or subject.released is None:
        return whole
    return whole - total(getattr(charge, name) for charge in subject.released.schema.charges)


def _amount(amount: Fraction | None) -> str:
    return "none" if amount is None else str(amount)


def _estimator_facts(attacked: AttackSubject, subject: Subject) -> Iterator[_Fact]:
    """Yield the class and the parameters of the estimator, if the report is on an estimator and not on a file."""
    if not callable(getattr(subject.model, "get_params", None)):
        return
    own = learner_facts(subject.model)
    yield _Fact("estimator", own["learner"], attacked.learner)
    ours, theirs = dict(own["parameters"]), dict(attacked.parameters)
    for name in sorted({*ours, *theirs}):
        yield _Fact(name, ours.get(name, "none"), theirs.get(name, "none"))
    if own["schema"] is not None or attacked.schema is not None:
        yield _Fact("schema", own["schema"] or "none", attacked.schema or "none")


def _table(record: AttackRecord, subject: Subject, train: Pair | None, test: Pair | None) -> TableMatch:
    """Return the match of the attacked rows with the report's rows; ArgumentError if they are other rows."""
    if record.kind == "empirical":
        return "made"
    schema = None if record.subject.schema is None else subject.schema
    if train is None or not record.subject.tables:
        return "not_compared"
    pairs = [LabelledRows.of(*pair) for pair in (train, test) if pair is not None]
    own = tables_digest(pairs[:1], schema)
    if own is None:
        return "not_compared"
    if own in record.subject.tables:
        return "training"
    if len(pairs) > 1 and tables_digest(pairs, schema) in record.subject.tables:
        return "all"
    raise ArgumentError(
        f"The attack is on another table ({number_of(record.subject.rows, 'row')}); it must be on the training rows, "
        f"or on "
        "training rows and held-out rows together."
    )
