"""Targets: the column to predict, and its levels, which are classes (ordered or not) or intervals of a number."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np

from hedgerow.boundary.arrays import Array, Floats, Integers, Whole
from hedgerow.errors import DomainError, SchemaError
from hedgerow.schema.attributes import MISSING, MOST_SHOWN, OUTSIDE, BinCodes
from hedgerow.schema.grid import check_bounds
from hedgerow.schema.literals import name_problem, values_problem
from hedgerow.schema.numbers import Real
from hedgerow.schema.spellings import KEY, Spellings, check_spellings, domain_text, spelled, split
from hedgerow.tables.columns import Column
from hedgerow.text.language import N_, _
from hedgerow.text.messages import shown
from hedgerow.text.values import Value, listed, plain_word, value_text

_LARGEST = 2**63  # bound on classes that are numbers, since predictions are an array of int64
_LARGEST_NUMBER = 1e150  # largest absolute value of a bound, so that sums of squares over rows are finite
MOST_LEVELS = 256  # the maximum number of levels: losses are tabulated for each pair of a prediction and a level


@dataclass(frozen=True)
class Target(ABC):
    """Base class of targets: a column to predict, and its levels, the only values that counting and search use."""

    name: str  # the column
    kind: ClassVar[str]
    ordered: ClassVar[bool] = False  # whether the levels are ordered

    @property
    @abstractmethod
    def values(self) -> tuple[Any, ...]:
        """The prediction for each level: its class, or its number."""

    @property
    @abstractmethod
    def hypothesis_classes(self) -> tuple[Any, ...]:
        """The possible predictions of an oracle's hypothesis: the classes, or whether a number is high."""

    @property
    def steps(self) -> int:
        """The amount that a row adds to the counts of its bin in an oracle's answer: 1, or the number of levels − 1."""
        return 1

    @abstractmethod
    def right_steps(self, levels: Integers, predicted: Integers) -> Integers:
        """Return the steps of each row that a hypothesis predicts correctly; `predicted` is a class number, or −1."""

    @property
    def n_levels(self) -> int:
        """The number of levels, which are numbered from 0."""
        return len(self.values)

    @property
    def as_number(self) -> "Number | None":
        """The target itself if it is a number; None for classes."""
        return None

    @abstractmethod
    def predicted(self, shares: Floats) -> tuple[Any, ...]:
        """Return the predictions for given shares of the levels, shape ``(n, n_levels)``."""

    @property
    @abstractmethod
    def domain(self) -> str:
        """The declared values as text."""

    @property
    def ignores_case(self) -> bool:
        """True if the lookup of text ignores letter case."""
        return False

    def spellings(self, *, is_text: bool) -> tuple[tuple[Value, int], ...]:  # noqa: ARG002 -- of classes
        """Return each declared value with its level, in the form of a column of text or of another type."""
        return ()

    @abstractmethod
    def check_type(self, column: Column) -> None:
        """Check that the column's type can hold values of the target, without reading any value."""

    @abstractmethod
    def codes(self, column: Column) -> Whole:
        """Return the level of each row, or `OUTSIDE` or `MISSING`."""

    @abstractmethod
    def checked(self, codes: Whole) -> BinCodes:
        """Return levels, after a check that no value is `MISSING` or `OUTSIDE`."""

    @abstractmethod
    def typed(self, column: Column) -> Any:
        """Return a column of text as an array of classes or numbers."""

    @abstractmethod
    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        """Return random values, uniform over the domain."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the target as JSON-ready data."""

    def encode(self, column: Column) -> BinCodes:
        """Return the level of each row, shape ``(n_rows,)``; DomainError, which quotes no value, if a row has none."""
        return self.checked(self.codes(column))


@dataclass(frozen=True)
class Label(Target):
    """The column to predict, by its `name`, and its `classes`: two or more texts, whole numbers or booleans.

    All classes have the same type; they are stored in sorted order. If `classes` is a mapping, it lists other spellings
    of each class, which cells may hold instead of the class. Predictions are always classes. `other_spellings` has the
    spellings in the order of the classes.

    Examples
    --------
    >>> Label("income", ("<=50K", ">50K")).classes
    ('<=50K', '>50K')
    >>> Label("ill", {"yes": ["ja", "1"], "no": ["nein", "0"]}).other_spellings
    (('nein', '0'), ('ja', '1'))
    """

    classes: tuple[Any, ...]
    other_spellings: Spellings = ()
    kind: ClassVar[str] = "label"

    def __post_init__(self) -> None:
        _check_name(self.name)
        problem = None
        try:
            values, spellings = split(self.classes, self.other_spellings, "classes")
        except SchemaError as error:
            problem, values, spellings = error, (), ()
        if problem:
            raise problem.placed(attribute=self.name)
        classes: tuple[Any, ...] = () if isinstance(values, str) else tuple(values)
        has_one_type = len({type(value) for value in classes}) == 1 and isinstance(classes[0], (str, int))
        if not classes:
            problem = f"expected a list of at least two classes, such as [no, yes]; got {shown(self.classes)}."
        elif not has_one_type:
            problem = f"classes must be all text, all whole numbers or all booleans, got {shown(self.classes)}."
        elif len({plain_word(value) if isinstance(value, str) else value for value in classes}) < max(2, len(classes)):
            problem = f"expected at least two classes, all different, got {shown(self.classes)}."
        elif any(isinstance(value, int) and not -_LARGEST <= value < _LARGEST for value in classes):
            problem = f"classes that are whole numbers must fit into 64 bits, got {shown(self.classes)}."
        problem = problem or values_problem(classes)
        if problem:
            raise SchemaError(problem, attribute=self.name, key="classes")
        order = range(len(classes)) if self.ordered else sorted(range(len(classes)), key=classes.__getitem__)
        object.__setattr__(self, "classes", tuple(classes[place] for place in order))
        object.__setattr__(self, KEY, tuple(spellings[place] for place in order) if spellings else ())
        if self.other_spellings:
            self._check_spellings()

    def _check_spellings(self) -> None:
        problem = None
        values, spellings = self.classes, self.other_spellings
        if self.ignores_case:  # false and true are spellings of 0 and 1 anyway
            values = tuple(map(int, self.classes))
            truths = ("false" if value == 0 else "true" for value in values)
            spellings = tuple((truth, *group) for truth, group in zip(truths, spellings, strict=True))
        try:
            check_spellings(values, spellings, ignores_case=self.ignores_case)
        except SchemaError as error:
            problem = error.placed(attribute=self.name)
        if problem:
            raise problem

    def __eq__(self, other: object) -> bool:
        """Compare name, classes and spellings; unlike in Python, True and 1 are different classes."""
        return self._identity == other._identity if isinstance(other, Label) else NotImplemented

    @property
    def _identity(self) -> tuple[Any, ...]:
        return self.name, self.classes, self.other_spellings, isinstance(self.classes[0], bool), self.ordered

    def check_type(self, column: Column) -> None:
        if not any(column.can_hold(value) for value in self.classes):
            kind = "dates" if column.holds_dates else "booleans" if column.values.dtype.kind == "b" else "numbers"
            problem = f"a column of {kind} cannot hold the classes {listed(self.classes)}"
            raise DomainError(f"{problem}; convert the column, or correct the classes.", column=self.name)

    @property
    def values(self) -> tuple[Any, ...]:
        return self.classes

    @property
    def hypothesis_classes(self) -> tuple[Any, ...]:
        return self.classes

    def right_steps(self, levels: Integers, predicted: Integers) -> Integers:
        return (levels == predicted).astype(np.int64)

    def predicted(self, shares: Floats) -> tuple[Any, ...]:
        """Return the most probable class; ties go to the first class."""
        return tuple(self.classes[place] for place in shares.argmax(axis=1))

    @property
    def domain(self) -> str:
        return domain_text(self.classes, self.other_spellings, MOST_SHOWN)

    def to_dict(self) -> dict[str, Any]:
        spellings = {KEY: list(map(list, self.other_spellings))} if self.other_spellings else {}
        ordered = {"ordered": True} if self.ordered else {}
        return {"name": self.name, "classes": list(self.classes), **spellings, **ordered}

    def typed(self, column: Column) -> Array:
        return np.array(self.classes)[self.encode(column)]

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return [self.classes[k] for k in rng.integers(len(self.classes), size=size)]

    def spellings(self, *, is_text: bool) -> tuple[tuple[Value, int], ...]:
        """Return each class and spelling with its level; if the classes are 0 and 1, text may be false and true too."""
        own = spelled(self.classes, self.other_spellings)
        if is_text and self.ignores_case:
            no, yes = self.classes.index(0), self.classes.index(1)  # in an order, 1 may come first
            # Letter by letter, like engines and Arrow: Python lowers a sigma at the end of a word differently.
            lowered = (("".join(map(str.lower, str(word))), code) for word, code in own[2:])
            return (("0", no), ("1", yes), ("false", no), ("true", yes), *lowered)
        return tuple((str(value) if is_text else value, number) for value, number in own)

    def codes(self, column: Column) -> Whole:
        codes = column.codes_of(self.spellings(is_text=column.is_text), ignore_case=self.ignores_case)
        return codes if column.missing is None else np.where(column.missing, MISSING, codes)

    @property
    def ignores_case(self) -> bool:
        return set(self.classes) == {0, 1}

    def checked(self, codes: Whole) -> BinCodes:
        allowed = listed(self.classes)
        if (codes == MISSING).any():
            problem = "some labels are missing; remove these rows, or fill in one of the classes"
            raise DomainError(f"{problem} {allowed}.", column=self.name)
        if (codes == OUTSIDE).any():
            yaml = " In YAML, put the classes yes, no, on, off, true and false in quotes."
            hint = yaml if isinstance(self.classes[0], bool) else ""
            problem = f"some labels are none of the classes {allowed}; correct them, or declare them in the schema"
            raise DomainError(f"{problem}.{hint}", column=self.name)
        return codes.astype(np.min_scalar_type(self.n_levels - 1))


@dataclass(frozen=True, eq=False)
class OrderedLabel(Label):
    """The column to predict and its classes in an order, such as grades or stages.

    List the classes from the first to the last, in the form of `Label`. The loss `objective="absolute"` counts the
    distance between the true and the predicted class.

    Examples
    --------
    >>> OrderedLabel("risk", ("low", "medium", "high")).classes
    ('low', 'medium', 'high')
    """

    ordered: ClassVar[bool] = True


@dataclass(frozen=True)
class Number(Target):
    """A number to predict, with public bounds, between which hedgerow counts levels of equal width.

    Each value counts as the middle of its level, which changes a value inside the bounds by at most half of a level's
    width. Trees and rule lists predict the middle of a level.

    Attributes
    ----------
    name : str
        The column's name.
    low, high : float
        The bounds. Take them from the meaning of the column, never from private rows.
    levels : int, default=32
        The number of levels, from 2 to 256.
    outside : {"clip", "error"}, default="clip"
        The treatment of a value outside the bounds: the nearest bound, or an error.

    Examples
    --------
    >>> stay = Number("days", 0, 32, levels=4)
    >>> stay.values
    (4.0, 12.0, 20.0, 28.0)
    """

    low: float
    high: float
    levels: int = 32
    outside: Literal["clip", "error"] = "clip"
    kind: ClassVar[str] = "number"
    ordered: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_name(self.name)
        check_bounds(self.low, self.high, whole=False)
        problem, key = self._problem()
        if problem:
            raise SchemaError(problem, attribute=self.name, key=key)
        # 0, 0.0 and -0.0 are equal, so their digests must be equal, too.
        object.__setattr__(self, "low", float(self.low) + 0.0)
        object.__setattr__(self, "high", float(self.high) + 0.0)

    def _problem(self) -> tuple[str | None, str | None]:
        if type(self.levels) is not int or not 2 <= self.levels <= MOST_LEVELS:
            return f"expected a whole number from 2 to {MOST_LEVELS}, got {shown(self.levels)}.", "levels"
        if self.outside not in ("clip", "error"):
            return f"expected one of clip, error, got {shown(self.outside)}.", "outside"
        if max(abs(self.low), abs(self.high)) > _LARGEST_NUMBER:
            return f"bounds must be at most {_LARGEST_NUMBER:g} in size; use another unit of measurement.", "high"
        if len({*self._edges(), *self.values}) <= 2 * self.levels:  # some edges or middles round to the same float64
            return f"the bounds are too close for {self.levels} levels; declare wider bounds or fewer levels.", "high"
        return None, None

    def _at(self, share: Fraction) -> float:
        return float(Fraction(self.low) + (Fraction(self.high) - Fraction(self.low)) * share)

    def _edges(self) -> list[float]:
        return [self._at(Fraction(k, self.levels)) for k in range(self.levels + 1)]

    @property
    def values(self) -> tuple[float, ...]:
        return self._middles

    @cached_property
    def _middles(self) -> tuple[float, ...]:
        return tuple(self._at(Fraction(2 * k + 1, 2 * self.levels)) for k in range(self.levels))

    @property
    def hypothesis_classes(self) -> tuple[Any, ...]:
        """False and True: whether the number is predicted to be high."""
        return False, True

    @property
    def steps(self) -> int:
        return self.levels - 1

    def right_steps(self, levels: Integers, predicted: Integers) -> Integers:
        """Return the steps above the first level if the prediction is high, below the last level if it is low."""
        return np.where(predicted == 1, levels, np.where(predicted == 0, self.steps - levels, 0))

    @property
    def as_number(self) -> "Number":
        return self

    @cached_property
    def column_kind(self) -> Real:
        """The real attribute whose bins are the levels; frames and engines read the column as this attribute."""
        return Real(self.low, self.high, cuts=self._edges()[1:-1], outside=self.outside)

    @property
    def domain(self) -> str:
        message = (
            N_("{low} to {high} in {levels} levels, outside: clip")
            if self.outside == "clip"
            else N_("{low} to {high} in {levels} levels")
        )
        return _(message, low=value_text(self.low), high=value_text(self.high), levels=self.levels)

    def predicted(self, shares: Floats) -> tuple[float, ...]:
        return tuple(map(float, shares @ np.array(self.values)))

    def check_type(self, column: Column) -> None:
        problem = "dates; convert them into days since a public date" if column.holds_dates else None
        if not column.is_text and column.values.dtype.kind == "b":
            problem = "booleans; declare a label with classes"
        if problem:
            raise DomainError(f"the target must be a column of numbers, got a column of {problem}.", column=self.name)

    def codes(self, column: Column) -> Whole:
        self.check_type(column)
        return self.column_kind.codes(column)

    def checked(self, codes: Whole) -> BinCodes:
        if (codes == MISSING).any():
            raise DomainError("some values of the target are missing; remove these rows.", column=self.name)
        if (codes == OUTSIDE).any():
            problem = f"some values of the target are outside the declared bounds ({self.domain})"
            raise DomainError(f"{problem}; declare wider bounds, or `outside: clip`.", column=self.name)
        return codes.astype(np.min_scalar_type(self.n_levels - 1))

    def typed(self, column: Column) -> Any:
        self.encode(column)
        return self.column_kind.typed(column)

    def drawn(self, size: int, rng: np.random.Generator) -> list[Any]:
        return rng.uniform(self.low, self.high, size).tolist()

    def to_dict(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name, "low": self.low, "high": self.high}
        data |= {} if self.levels == type(self).levels else {"levels": self.levels}
        return data | ({} if self.outside == type(self).outside else {"outside": self.outside})


def _check_name(name: object) -> None:
    problem = name_problem(name)
    if problem:
        raise SchemaError(problem, key="label")
