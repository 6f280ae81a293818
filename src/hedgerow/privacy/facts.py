"""Facts about releases: codes with public details, checked against a table of forms.

A `Fact` describes a release, a mechanism, a reason why there is no guarantee, or a note of a card. Programs compare
codes and details. `hedgerow.privacy.wording` renders the sentences, which are never read back.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from operator import index
from typing import Any, Literal, Self

from hedgerow.errors import ArgumentError
from hedgerow.privacy import wording
from hedgerow.text.messages import describe_argument

Kind = Literal["query", "mechanism", "loss", "reason", "note", "source", "noise", "software"]
LONGEST_TEXT = 10_000  # the maximum number of characters of a text in a fact
LARGEST_COUNT = 2**63
_LARGEST = 10**305  # amounts up to this have a float, and 10^5 of the largest charges add up to no more
_LONGEST = 2_500  # digits of a numerator or denominator, as in sums of amounts
_TOO_LONG = 10**_LONGEST
_FRACTION = re.compile(f"[0-9]{{1,{_LONGEST}}}(/[0-9]{{1,{_LONGEST}}})?")
_REAL = re.compile(r"[0-9]{1,400}(\.[0-9]{1,400})?(e[+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Field:
    """The type and bounds of a detail of a fact, in memory and in files.

    `check` returns the value to store, and raises ValueError or TypeError if the type is wrong or the value is out of
    bounds. `write` returns the data for a file, and `read` reads them. In files, amounts are fractions as text, such as
    ``"1/3"``, and real numbers are the shortest decimals of floats.
    """

    type: str  # the type in words
    check: Callable[[Any], Any]
    write: Callable[[Any], Any] = lambda value: value
    read: Callable[[Any], Any] = lambda data: data  # returns a value that `check` accepts
    codes: tuple[str, ...] = ()  # the allowed codes, or the kind of a fact
    is_optional: bool = False

    @property
    def optional(self) -> Self:
        """The same field for an optional detail."""
        return replace(self, is_optional=True)


def _within(value: Any, is_allowed: bool) -> Any:
    if not is_allowed:
        raise ArgumentError("it has another type or is out of bounds")
    return value


def _list(value: Any) -> Any:
    return _within(value, isinstance(value, (tuple, list)))


def _count(value: Any) -> int:
    number = -1 if isinstance(value, bool) else index(value)
    return _within(number, 0 <= number < LARGEST_COUNT)


def _amount(value: Any) -> Fraction:
    amount = value if type(value) is Fraction else Fraction(value)
    return _within(amount, 0 <= amount <= _LARGEST and max(amount.numerator, amount.denominator) < _TOO_LONG)


def _read_amount(data: Any) -> Fraction:
    above, _, below = _within(data, isinstance(data, str) and bool(_FRACTION.fullmatch(data))).partition("/")
    return Fraction(int(above), int(below or 1))


def _real(value: Any) -> float:
    number = float(value)
    return _within(number, math.isfinite(number) and number >= 0)


def _read_real(data: Any) -> float:
    return float(_within(data, isinstance(data, str) and bool(_REAL.fullmatch(data))))


def _text(value: Any) -> str:
    _within(value, isinstance(value, str) and len(value) <= LONGEST_TEXT)
    return "".join((value,))  # an instance of str itself, also for a subclass


COUNT = Field("count", _count, read=lambda data: _within(data, type(data) is int))
AMOUNT = Field("amount", _amount, str, _read_amount)
REAL = Field("real number", _real, repr, _read_real)
TEXT = Field("text", _text)
FLAG = Field("flag", lambda value: _within(value, value is True))  # the detail is True or absent
AMOUNTS = Field(
    "list of amounts",
    lambda value: tuple(map(_amount, _list(value))),
    lambda value: list(map(str, value)),
    lambda data: tuple(map(_read_amount, _list(data))),
)
TEXTS = Field("list of texts", lambda value: tuple(map(_text, _list(value))), list)


def one_of(*codes: str) -> Field:
    """Return the field for one of several codes."""
    return Field("code", lambda value: _within(value, type(value) is str and value in codes), codes=codes)


def fact_of(kind: Kind) -> Field:
    """Return the field for a fact of a kind."""
    return Field(
        "fact",
        lambda value: fact(_within(value, type(value) is Fact), kind, "the detail"),
        lambda value: value.to_dict(),
        lambda data: Fact.from_dict(data, kind),
        (kind,),
    )


def facts_of(kind: Kind) -> Field:
    """Return the field for several facts of a kind."""
    return Field(
        "list of facts",
        lambda value: facts(value, kind, "the detail"),
        lambda value: [part.to_dict() for part in value],
        lambda data: facts_from_list(data, kind),
        (kind,),
    )


@dataclass(frozen=True)
class Form:
    """The kinds of facts that a code may have, and the fields of its details."""

    kinds: frozenset[str]
    fields: Mapping[str, Field]


@dataclass(frozen=True, init=False)
class Fact:
    """A code with details, for example a mechanism with its scale.

    Parameters
    ----------
    code : str
        A code of the table of forms.
    **details
        The details that the form of the code declares. Optional details may be left out or None.

    Attributes
    ----------
    code : str
        The code.
    details : tuple of (str, object)
        The details by name, in the order of the form.

    Raises
    ------
    ValueError
        If the code is not known, or a detail is missing, not known, has the wrong type, or is out of bounds.

    Examples
    --------
    >>> fact = Fact("leaf_counts", of="rules", number=3)
    >>> fact.code, fact["number"]
    ('leaf_counts', 3)
    >>> print(fact.words)
    counts of 3 rules by class
    >>> fact.to_dict()
    {'code': 'leaf_counts', 'of': 'rules', 'number': 3}
    """

    code: str
    details: tuple[tuple[str, Any], ...]

    def __init__(self, code: str, **details: Any) -> None:
        form = FORMS.get(code) if type(code) is str else None
        if form is None:
            raise ArgumentError(f"expected a fact with a known code, got {describe_argument(code)}.")
        given = {name: value for name, value in details.items() if value is not None}
        if unknown := [name for name in given if name not in form.fields]:
            names = ", ".join(form.fields) or "none"
            raise ArgumentError(f"expected details of a fact {code!r} ({names}), got {describe_argument(unknown[0])}.")
        checked = tuple(
            (name, _converted(code, name, field, field.check, given.get(name)))
            for name, field in form.fields.items()
            if name in given or not field.is_optional
        )
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "details", checked)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of facts that the code may have."""
        return FORMS[self.code].kinds

    @property
    def words(self) -> str:
        """The fact in words, for people. No program may read them."""
        return wording.of_fact(self)

    def get(self, name: str, default: Any = None) -> Any:
        """Return a detail, or `default` if it was left out."""
        return dict(self.details).get(name, default)

    def __getitem__(self, name: str) -> Any:
        return dict(self.details)[name]

    def having(self, **details: Any) -> "Fact":
        """Return the fact with added or changed details."""
        return Fact(self.code, **(dict(self.details) | details))

    def to_dict(self) -> dict[str, Any]:
        """Return the fact as JSON-ready data without floats."""
        fields = FORMS[self.code].fields
        return {"code": self.code, **{name: fields[name].write(value) for name, value in self.details}}

    @classmethod
    def from_dict(cls, data: object, kind: Kind) -> "Fact":
        """Read a fact of a kind that `to_dict` wrote; ValueError for other data."""
        read = None
        if isinstance(data, dict) and type(data.get("code")) is str and (form := FORMS.get(data["code"])) is not None:
            code, fields = data["code"], form.fields
            values = {name: value for name, value in data.items() if name != "code"}
            if kind in form.kinds and values.keys() <= fields.keys() and None not in values.values():
                details = {
                    name: _converted(code, name, fields[name], fields[name].read, value)
                    for name, value in values.items()
                }
                read = cls(code, **details)
        if read is None or read.to_dict() != data:
            given = data.get("code") if isinstance(data, dict) else data
            raise ArgumentError(f"expected a {kind} with a known code and its details, got {describe_argument(given)}")
        return read


def _converted(code: str, name: str, field: Field, convert: Callable[[Any], Any], value: Any) -> Any:
    try:
        return convert(value)
    except (ArithmeticError, TypeError, ValueError):
        pass
    problem = f"expected a value of type {field.type} within bounds as {name} of {code!r}"
    raise ArgumentError(f"{problem}, got {describe_argument(value)}.")


def fact(value: object, kind: Kind, name: str) -> Fact:
    """Return a fact of a kind. Text becomes a fact with the code ``text``."""
    if isinstance(value, str):
        return Fact("text", text=value)
    if type(value) is not Fact or kind not in value.kinds:
        raise ArgumentError(f"{name} must be text or a Fact of kind {kind}, got {_description(value)}.")
    return value


def facts(value: object, kind: Kind, name: str = "the facts") -> tuple[Fact, ...]:
    """Return facts of a kind without duplicates, from None, text, a fact, or several of them."""
    if value is None:
        return ()
    parts = (value,) if isinstance(value, (str, Fact)) else value
    if not isinstance(parts, Iterable):
        raise ArgumentError(f"{name} must be text, a Fact or a sequence of them, got {_description(value)}.")
    return tuple(dict.fromkeys(fact(part, kind, name) for part in parts))


def _description(value: object) -> str:
    return f"a Fact with the code {value.code!r}" if type(value) is Fact else f"a {type(value).__name__}"


def facts_from_list(data: object, kind: Kind) -> tuple[Fact, ...]:
    """Read a list of facts that `Fact.to_dict` wrote; ValueError for other data or duplicates."""
    if not isinstance(data, list):
        raise ArgumentError(f"expected a list of facts, got {describe_argument(data)}")
    read = tuple(Fact.from_dict(part, kind) for part in data)
    if len(set(read)) < len(read):
        raise ArgumentError("the list of facts has a duplicate")
    return read


_BY = one_of("rows", "classes", "levels", "errors")
_LEAVES = {"of": one_of("leaves", "rules", "rule", "default_rule"), "number": COUNT.optional}
_VALUES = one_of("labels", "probabilities", "predictions")
_CHOICE = {"directions": COUNT, "sensitivity": COUNT, "scale": AMOUNT}  # the scale is in sensitivities
_UNPROVEN = one_of("smooth-laplace", "smooth-cauchy", "global-laplace", "global-gaussian")

_FIELDS: dict[Kind, dict[str, dict[str, Field]]] = {
    "query": {
        "planned": {},
        "all_so_far": {},
        "unused": {},
        "model": {"learner": TEXT, "model": TEXT},
        "leaf_counts": _LEAVES,
        "leaf_sums": _LEAVES,
        "rules_draw": {"most": COUNT, "values": _VALUES, "draws_size": FLAG.optional, "further": FLAG.optional},
        "tree_draw": {
            "depth": COUNT, "values": _VALUES, "draws_size": FLAG.optional, "or_scorecard": FLAG.optional,
        },
        "subtrees_draw": {"depth": COUNT, "values": _VALUES},
        "rule_choice": {"number": COUNT},
        "level_choice": {"number": COUNT},
        "attribute_choice": {"number": COUNT, "of": COUNT},
        "attribute_choices": {"of": COUNT, "series": FLAG.optional},
        "rows_left": {"rule": COUNT},
        "candidate_counts": {"candidates": COUNT, "rule": COUNT},
        "class_totals": {"series": FLAG.optional},
        "number_totals": {},
        "moments": {"series": FLAG.optional},
        "histograms": {"of": one_of("classes", "number"), "attributes": COUNT, "series": FLAG.optional},
        "associations": {},
        "attribute_residuals": {"attributes": COUNT},
        "bin_residuals": {"attribute": TEXT},
        "class_residuals": {"attribute": TEXT},
        "residual_sizes": {},
        "calibration": {"by": one_of("total", "lead")},
        "cut_points": {"attribute": TEXT},
        "schema_cut_points": {},
        "evaluation": {"model": TEXT, "digest": TEXT, "of": one_of("classes", "errors", "numbers")},
        "answer": {"by": _BY, "attributes": COUNT},
        "question": {"by": _BY, "attributes": COUNT, "number": COUNT, "of": COUNT},
        "series": {"by": _BY, "attributes": COUNT, "of": COUNT},
        "other_answers": {},
        "fewer_attributes": {},
        "questions_left": {"number": COUNT},
        "all_questions_left": {},
        "curators": {"of": one_of("answers", "questions"), "together": one_of("largest", "sum")},
    },
    "mechanism": {
        "permute_and_flip": _CHOICE,
        "gumbel_choice": _CHOICE,
        "discrete_laplace": {"sensitivity": COUNT, "scale": AMOUNT, "each": COUNT.optional},
        "shared_histograms": {
            "attributes": COUNT, "bins": COUNT, "sensitivity": COUNT, "scale": AMOUNT,
            "groups": COUNT.optional, "alone": COUNT.optional,  # alone: attributes with discrete Laplace noise
        },
        "discrete_gaussian": {
            "answers": COUNT, "number": COUNT, "parts": AMOUNT, "changes": COUNT, "rows": COUNT,
            "scale": REAL, "mu": AMOUNT.optional,  # mu: of all answers together, if they compose in Gaussian DP
        },
        "gumbel_peeling": {
            "answers": COUNT, "number": COUNT, "parts": AMOUNT, "changes": COUNT, "rows": COUNT, "draws": COUNT,
            "scale": REAL, "mu": AMOUNT.optional,
        },
        "model_draw": {"weight": AMOUNT, "loss": fact_of("loss"), "kept": AMOUNT, "handicap": COUNT.optional},
        "joint_quantiles": {
            "bins": COUNT, "candidates": COUNT, "weight": AMOUNT, "sensitivity": COUNT, "kept": AMOUNT,
        },
        "noisy_min": {
            "noise": one_of("laplace", "cauchy", "gaussian"), "scale": REAL, "sensitivity": REAL,
            "beta": REAL.optional,
        },
        "exponential_choice": {"weight": REAL, "sensitivity": REAL},
        "clipped_ratio": {"scale": REAL},
        "as_stated": {},
    },
    "loss": {
        "errors": {},
        "brier": {},
        "mixed": {},
        "cost": {"largest": REAL},
        "absolute_classes": {"classes": COUNT},
        "absolute": {"range": REAL},
        "squared": {"bound": REAL},
        "quantile": {"range": REAL, "weight": REAL},
    },
    "reason": {
        "seeded": {},
        "other_noise": {},
        "from_rows": {},
        "published": {"epsilon": AMOUNT, "delta": AMOUNT.optional},
        "unproven": {"mechanism": _UNPROVEN},
        "unproven_ratio": {},
        "opaque_hypothesis": {},
        "read_from": {"format": TEXT, "ours": FLAG.optional},
        "narrowed": {},
        "made_of_tests": {},
        "learned_by": {"library": TEXT},
        "not_private": {},
        "exact_answers": {},
        "nothing_answered": {},
    },
    "note": {
        "columns_public": {},
        "row_is_unit": {},
        "not_noised": {},
        "rows_used": {"rows": COUNT},
        "unit_is_person": {"column": TEXT},
        "weighted": {"column": TEXT, "largest": REAL, "levels": COUNT},
        "own_weights": {},
        "default_grid": {"attributes": TEXTS, "more": COUNT.optional},
        "attributes_chosen": {"attributes": COUNT, "most": COUNT},
        "greedy_search": {},
        "exact_search": {"size": COUNT, "parts": TEXT, "jointly": COUNT.optional, "draws_size": FLAG.optional},
        "rounded_impurity": {},
        "model_choice": {
            "model": one_of("tree", "scorecard", "either"),
            "because": one_of("few_rows", "many_rows", "drawn", "ranking", "monotone", "costs", "weights"),
            "rows": COUNT.optional, "is_noisy": FLAG.optional, "rows_needed": COUNT.optional,
        },
        "model_is_public": {"because": one_of("no_guarantee", "other_unit", "sum"), "epsilon": AMOUNT.optional},
        "oracle_public": {},
        "hypotheses_are_data": {},
        "hypotheses_paid": {},
        "denied": {"because": facts_of("reason")},
        "oracle_row_is_unit": {"delta": FLAG.optional},
        "oracle_unit": {"column": TEXT, "rows": COUNT},
        "per_curator": {"epsilon": AMOUNTS, "delta": AMOUNTS},
        "row_at_one_curator": {"epsilon": AMOUNT},
        "unit_at_every_curator": {"column": TEXT},
        "columns_left_out": {"columns": TEXTS},
        "unsigned": {},
        "asked_of": {"dataset": TEXT, "epoch": COUNT},
        "timing": {"seconds": REAL.optional},
        "oversubscribed": {},
    },
    "source": {
        "opendp": {"version": TEXT},
        "operating_system": {},
        "seeded_generator": {},
        "no_noise": {},
        "unknown_noise": {},
    },
    "noise": {"several": {"sources": facts_of("source")}},
    "software": {
        "hedgerow": {"version": TEXT},
        "library": {"name": TEXT},
        "unknown_software": {},
    },
}  # fmt: skip


def forms_of(fields_by_kind: Mapping[Kind, Mapping[str, Mapping[str, Field]]]) -> dict[str, Form]:
    """Return the forms by code; raise ArgumentError for a code of two kinds.

    Every mechanism may run on disjoint rows, noise may have a single source, and every kind except a loss may be text.
    """
    forms_by_code = {"text": Form(frozenset({*fields_by_kind} - {"loss"}), {"text": TEXT})}
    for kind, forms in fields_by_kind.items():
        if used := forms_by_code.keys() & forms:
            raise ArgumentError(f"the code {min(used)!r} of a {kind} is already in use; each code has a single kind.")
        more = {"disjoint": FLAG.optional} if kind == "mechanism" else {}
        kinds = frozenset({"source", "noise"} if kind == "source" else {kind})
        forms_by_code |= {code: Form(kinds, {**fields, **more}) for code, fields in forms.items()}
    return forms_by_code


FORMS: Mapping[str, Form] = forms_of(_FIELDS)
