"""Fields of PMML: their valid, invalid and missing values, expressed as attributes of a schema."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.models.readers.attribute_tests import (
    LARGEST,
    LARGEST_SINGLE,
    SOURCE,
    AttributeTest,
    bounded,
    largest_as_single,
)
from hedgerow.models.readers.documents import Element
from hedgerow.schema import Attribute, Boolean, Categorical, Ordered
from hedgerow.schema.numbers import Integer, Numeric, Real, as_number
from hedgerow.text.messages import shown
from hedgerow.text.values import NUMBER, plain_word, value_text

_LARGEST_WHOLE = 2**53 - 1
_STATED = "the Interval of the file, whose ends may be the smallest and the largest value of the rows"
_ORDERED = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class PmmlField:
    """A DataField with its MiningField, if any."""

    data: Element
    mining: Element | None

    @property
    def name(self) -> str:
        return self.data.need("name")

    @property
    def type(self) -> str:
        return self.data.need("dataType")

    @property
    def is_number(self) -> bool:
        return self.data.need("optype") == "continuous"

    @property
    def invalid(self) -> str:
        """The treatment of invalid values: returnInvalid, asIs or asMissing."""
        treatment = "returnInvalid" if self.mining is None else self.mining.given.get("invalidValueTreatment")
        return treatment or "returnInvalid"

    @property
    def refuses_missing(self) -> bool:
        return self.mining is not None and self.mining.given.get("missingValueTreatment") == "returnInvalid"

    @cached_property
    def missing_words(self) -> tuple[str, ...]:
        elements = (element for element in self.data.all("Value") if element.given.get("property") == "missing")
        return tuple(dict.fromkeys(self.spelled_value(element.need("value"), element) for element in elements))

    @cached_property
    def valid(self) -> tuple[str, ...]:
        """The only valid values, if the file lists any or the type is boolean; otherwise empty."""
        elements = [x for x in self.data.all("Value") if x.given.get("property", "valid") == "valid"]
        values = tuple(dict.fromkeys(self.spelled_value(element.need("value"), element) for element in elements))
        return values or (("false", "true") if self.type == "boolean" else ())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The smallest and the largest valid number, if the file states bounds."""
        intervals = self.data.all("Interval")
        if not intervals:
            return None
        if len(intervals) > 1:
            intervals[1].refuse(f"{shown(self.name)} has several Intervals; only one is supported")
        (interval,), closure = intervals, intervals[0].need("closure")
        low = self._end(interval, "leftMargin", is_open=closure.startswith("open"), is_low=True)
        high = self._end(interval, "rightMargin", is_open=closure.endswith("Open"), is_low=False)
        if not {"leftMargin", "rightMargin"} & set(interval.given):
            interval.refuse(f"the Interval of {shown(self.name)} must have a leftMargin or a rightMargin")
        if not low < high:
            interval.refuse(f"the Interval of {shown(self.name)} must contain more than one number")
        return low, high

    def _end(self, interval: Element, name: str, *, is_open: bool, is_low: bool) -> float:
        largest = _LARGEST_WHOLE if self.type == "integer" else LARGEST_SINGLE if self.type == "float" else LARGEST
        if name not in interval.given:
            return -largest if is_low else largest
        number = float(interval.given[name])
        if abs(number) > largest:
            interval.refuse(f"{name} must be at most {largest:g} in absolute value")
        before = math.nextafter(number, -math.inf)
        if self.type == "integer":
            return _whole_end(number, is_open=is_open, is_low=is_low)
        if self.type == "float":  # a number is valid if it is inside after rounding to single precision
            last = largest_as_single(before if is_open != is_low else number)
            return math.nextafter(last, math.inf) if is_low else last
        after = math.nextafter(number, math.inf)
        return number if not is_open else after if is_low else before

    def check(self) -> None:
        """Raise an error for combinations without a meaning, or on which evaluators disagree."""
        name, data, mining = shown(self.name), self.data, self.mining
        if mining is not None and mining.given.get("optype", data.need("optype")) != data.need("optype"):
            mining.refuse(f"the optype of {name} differs from the optype of its DataField, which is not supported")
        if self.is_number and self.type not in ("double", "float", "integer"):
            data.refuse(f'dataType="{self.type}" of the continuous field {name} is not supported')
        if not self.is_number and self.type == "float":
            data.refuse(f'dataType="float" of the categorical field {name} is not supported; use string or integer')
        if self.is_number and self.valid:
            data.refuse(f"a list of valid Values of the continuous field {name} is not supported; use an Interval")
        if not self.is_number and data.all("Interval"):
            data.refuse(f"an Interval of the categorical field {name} is not supported")
        if self.type == "boolean" and self.valid and len(self.valid) != 2:
            data.refuse(f"the boolean field {name} must have both of the Values true and false, or no Values")

    def spelled_value(self, text: str, place: Element | AttributeTest) -> str:
        """Return a constant of this field in the spelling of its type, so that equal constants are equal texts."""
        if self.type == "boolean":
            word = {"1": "true", "0": "false"}.get(text, text.lower())
            return word if word in ("true", "false") else _refuse(place, f"{self._shown} must be true or false")
        if self.type == "string":
            if plain_word(text) != text:
                _refuse(place, f"{self._shown} must not have text that is a whole number with a fraction of zeros")
            return text
        if not re.fullmatch(NUMBER, text):
            _refuse(place, f"{self._shown} has the type {self.type}, so its value must be a number below 1e150")
        if self.is_number:
            return text
        number = Fraction(text)
        if self.type == "integer" and number.denominator != 1:
            _refuse(place, f"{self._shown} must be a whole number")
        return str(number.numerator) if number.denominator == 1 else value_text(float(text))

    @property
    def _shown(self) -> str:
        return shown(self.name)

    def spelled(self, test: AttributeTest) -> AttributeTest:
        """Return a test with its constants in the spelling of the type of the field."""
        if not self.is_number and test.operator in _ORDERED and self.data.need("optype") != "ordinal":
            raise test.problem(f"{self._shown} is categorical and has no order, so it cannot be compared by size.")
        if not self.is_number and test.operator in _ORDERED and not self.valid:
            raise test.problem(f"the DataField of {self._shown} must list its Values, whose order decides the test.")
        values = tuple(self.spelled_value(value, test) for value in test.values)
        invalid = [value for value in values if self.valid and value not in self.valid]
        if invalid and self.invalid != "asIs":
            raise test.problem(
                f"{self._shown} may only be compared with its valid Values; rows with other values are invalid."
            )
        return replace(test, values=values, single=self.type == "float")

    def attribute(self, tests: Sequence[AttributeTest], *, never_missing: bool) -> Attribute:
        """Return the attribute of a schema that is derived from the file alone."""
        missing = "error" if never_missing else "bin"
        outside = "error" if self.invalid == "returnInvalid" or never_missing else "bin"
        spelled = self.missing_words
        if never_missing and spelled and (self.is_number or outside == "bin" or not self.valid):
            problem = f"missing values of {self._shown} have no prediction, so it must not have a Value for missing"
            self.data.refuse(f"{problem}; delete the Value, and remove the rows that have it")
        if self.is_number:
            whole = self.type == "integer"
            if self.interval is not None and self.invalid != "asIs":
                kind, cast = (Integer, int) if whole else (Real, float)
                low, high = map(cast, self.interval)
                return kind(low, high, (), missing=missing, missing_values=spelled, outside=outside, source=_STATED)
            if whole:
                low, high = -_LARGEST_WHOLE, _LARGEST_WHOLE
                return Integer(low, high, (), missing=missing, missing_values=spelled, source=SOURCE)
            limits = [x for test in tests if test.values for x in test.limits(whole=False)]
            ends = min(limits, default=0), max(limits, default=0)
            return bounded(*ends, missing=missing, missing_values=spelled)
        spelled = () if never_missing else spelled
        if self.type == "boolean":
            return Boolean(missing=missing, missing_values=spelled)
        values = tuple(dict.fromkeys([*self.valid, *(value for test in tests for value in test.values)]))
        is_ordered = self.data.need("optype") == "ordinal" and len(self.valid) > 1 and values == self.valid
        kind = Ordered if is_ordered else Categorical
        outside = outside if self.valid else "bin"
        return kind(values, missing=missing, outside=outside, missing_values=spelled)

    def narrowed(self, attribute: Attribute) -> Attribute:
        """Return an attribute of the schema without the values for which the file makes no prediction."""
        number, changes = as_number(attribute), dict[str, object]()
        self._check_fits(attribute, number)
        words = [word for word in self.missing_words if word not in map(plain_word, attribute.missing_values)]
        if words and attribute.missing == "error":
            self.data.refuse(f"{self._shown} has Values that mean missing; declare `missing: bin` for it in the schema")
        if words:
            changes["missing_values"] = (*attribute.missing_values, *words)
        if self.refuses_missing and attribute.missing == "bin":
            if attribute.missing_values:
                self.data.refuse(f"missing values of {self._shown} have no prediction; declare `missing: error` for it")
            changes["missing"] = "error"
        if self.invalid == "returnInvalid" and number is not None and self.interval is not None:
            return _inside(number, self.interval, self, changes)
        if self.invalid == "returnInvalid" and self.valid and not isinstance(attribute, Boolean):
            values = tuple(value for value in attribute.listed if plain_word(value) in self.valid)
            if not values:
                self.data.refuse(f"the schema allows no valid Value of {self._shown}")
            changes |= {"values": values, "outside": "error"}
        if self.invalid == "asMissing" and number is not None and self.interval is not None:
            low, high = _ends(number, self.interval)
            ends = {low - 1 if number.whole else math.nextafter(low, -math.inf), high}
            changes["cuts"] = tuple(sorted({*number.cuts, *(end for end in ends if number.low <= end < number.high)}))
        return replace(attribute, **changes) if changes else attribute

    def _check_fits(self, attribute: Attribute, number: Numeric | None) -> None:
        problem, advice = f"the schema declares {self._shown} as {attribute.kind}, the file as {self.type}", ""
        if self.type == "integer" and self.is_number and number is not None and not number.whole:
            advice = "declare it as integer"
        elif number is not None and number.whole and number.outside == "bin" and not self._drops_other_numbers:
            problem = f"the model distinguishes whole numbers from fractions outside the domain of {self._shown}"
            advice = "declare `outside: error` for it in the schema"
        elif number is not None and not self.is_number and (self.valid or self.type == "boolean"):
            advice = "declare it as categorical or boolean"
        elif isinstance(attribute, Ordered) and self.data.need("optype") == "ordinal":
            order = [value for value in self.valid if value in map(plain_word, attribute.listed)]
            if order != [plain_word(value) for value in attribute.listed if plain_word(value) in self.valid]:
                problem = f"the values of {self._shown} have another order in the schema than in the file"
                advice = "use the order of the file"
        elif isinstance(attribute, Boolean) and self.valid and self.type != "boolean":
            words = {plain_word(word) for word, _ in attribute.spellings} or {"true", "false"}
            advice = "" if words <= set(self.valid) else "declare it as categorical"
        if advice:
            self.data.refuse(f"{problem}; {advice}")

    @property
    def _drops_other_numbers(self) -> bool:
        """True if fractions count as missing, like all numbers outside an interval."""
        return self.type == "integer" and self.invalid == "asMissing" and self.interval is not None

    def absent(self, attribute: Attribute) -> Mask:
        """Return the bins of an attribute whose values are invalid and count as missing."""
        absent = np.zeros(attribute.n_bins, dtype=bool)
        if self.invalid != "asMissing" or not (self.valid or self.interval):
            return absent
        number, known = as_number(attribute), attribute.n_known
        outside = attribute.n_known + (attribute.missing == "bin")
        if number is not None and self.interval is not None:
            low, high = _ends(number, self.interval)
            edges = np.array([math.nextafter(number.low, -math.inf), *number.cuts, number.high])
            absent[:known] = (edges[:-1] >= high) | (edges[1:] < low)
            is_all_outside = number.low <= low and high <= number.high
            is_known = number.outside == "error" or is_all_outside
        else:
            listed = ("false", "true") if isinstance(attribute, Boolean) else attribute.listed
            places = {plain_word(value): place for place, value in enumerate(listed)}
            for word in set(places) - set(self.valid):
                absent[places[word]] = True
            is_known = attribute.outside == "error" or set(self.valid) <= set(places)
        if not is_known or (number is not None and number.outside == "clip"):
            advice = "declare `outside: error` for it in the schema"
            self.data.refuse(
                f"the bins of {self._shown} do not show which values outside the schema's domain are valid; {advice}"
            )
        absent[outside:] = True
        return absent


def fields_of(parts: Iterable[Element], model: Element) -> dict[str, PmmlField]:
    """Return the fields of a document by name."""
    mining = dict[str, Element]()
    for element in (element for part in model.all("MiningSchema") for element in part.all("MiningField")):
        name = element.need("name")
        if name in mining:
            element.refuse(f"there must be only one MiningField {shown(name)}; this is the second")
        mining[name] = element
    fields = dict[str, PmmlField]()
    for element in (element for part in parts for element in part.all("DataField")):
        name = element.need("name")
        if name in fields:
            element.refuse(f"there must be only one DataField {shown(name)}; this is the second")
        fields[name] = PmmlField(element, mining.get(name))
    for name in (name for name in mining if name not in fields):
        mining[name].refuse(f"the MiningField {shown(name)} has no DataField")
    for pmml_field in fields.values():
        pmml_field.check()
    return fields


def _whole_end(number: float, *, is_open: bool, is_low: bool) -> int:
    if is_low:
        return math.floor(number) + 1 if is_open else math.ceil(number)
    return math.ceil(number) - 1 if is_open else math.floor(number)


def _ends(number: Numeric, interval: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest and the largest value of a number inside an interval."""
    return (math.ceil(interval[0]), math.floor(interval[1])) if number.whole else interval


def _inside(number: Numeric, interval: tuple[float, float], field: PmmlField, changes: dict[str, object]) -> Attribute:
    """Return a number with the bounds of an interval; values outside of it raise errors."""
    first, last = _ends(number, interval)
    low, high = max(number.low, first), min(number.high, last)
    if not low < high:
        field.data.refuse(f"the Interval of {shown(field.name)} contains no numbers that the schema allows")
    cuts = tuple(cut for cut in number.cuts if low <= cut < high)
    return replace(number, low=number.scalar(low), high=number.scalar(high), cuts=cuts, outside="error", **changes)


def _refuse(place: Element | AttributeTest, text: str) -> str:
    if isinstance(place, Element):
        place.refuse(text)
    raise place.problem(f"{text}.")
