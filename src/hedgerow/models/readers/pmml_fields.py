"""Fields of PMML: which values of a field are valid, invalid or missing, as an attribute of a schema says it."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.models.readers.documents import Element
from hedgerow.models.readers.questions import LARGEST, LARGEST_SINGLE, SOURCE, AttributeTest, bounded, largest_as_single
from hedgerow.schema import Attribute, Boolean, Categorical, Ordered
from hedgerow.schema.numbers import Integer, Numeric, Real, as_number
from hedgerow.text.messages import shown
from hedgerow.text.values import NUMBER, plain_word, value_text

_LARGEST_WHOLE = 2**53 - 1
_STATED = "the Interval of the file; it can be the least and the largest value of the rows"
_ORDERED = ("<", "<=", ">", ">=")


@dataclass(frozen=True)
class PmmlField:
    """A DataField with its MiningField, if it has one."""

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
        """What happens with invalid values: returnInvalid, asIs or asMissing."""
        found = "returnInvalid" if self.mining is None else self.mining.given.get("invalidValueTreatment")
        return found or "returnInvalid"

    @property
    def refuses_missing(self) -> bool:
        return self.mining is not None and self.mining.given.get("missingValueTreatment") == "returnInvalid"

    @cached_property
    def missing_words(self) -> tuple[str, ...]:
        held = (one for one in self.data.all("Value") if one.given.get("property") == "missing")
        return tuple(dict.fromkeys(self.spelled_value(one.need("value"), one) for one in held))

    @cached_property
    def valid(self) -> tuple[str, ...]:
        """The values that alone are valid, if the file lists any or the type has two."""
        held = [one for one in self.data.all("Value") if one.given.get("property", "valid") == "valid"]
        found = tuple(dict.fromkeys(self.spelled_value(one.need("value"), one) for one in held))
        return found or (("false", "true") if self.type == "boolean" else ())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """The least and the largest valid number, if the file bounds them."""
        held = self.data.all("Interval")
        if not held:
            return None
        if len(held) > 1:
            held[1].refuse(f"several Intervals of {shown(self.name)} are not supported; export the model with one")
        (one,), closure = held, held[0].need("closure")
        low = self._end(one, "leftMargin", is_open=closure.startswith("open"), is_low=True)
        high = self._end(one, "rightMargin", is_open=closure.endswith("Open"), is_low=False)
        if not {"leftMargin", "rightMargin"} & set(one.given):
            one.refuse(f"expected an Interval of {shown(self.name)} with a leftMargin or a rightMargin, got neither")
        if not low < high:
            one.refuse(f"expected an Interval of {shown(self.name)} that holds more than one number")
        return low, high

    def _end(self, one: Element, name: str, *, is_open: bool, is_low: bool) -> float:
        largest = _LARGEST_WHOLE if self.type == "integer" else LARGEST_SINGLE if self.type == "float" else LARGEST
        if name not in one.given:
            return -largest if is_low else largest
        number = float(one.given[name])
        if abs(number) > largest:
            one.refuse(f"expected a {name} of at most {largest:g} in size")
        before = math.nextafter(number, -math.inf)
        if self.type == "integer":
            return _whole_end(number, is_open=is_open, is_low=is_low)
        if self.type == "float":  # a number is valid if it is inside once it has been rounded to single precision
            last = largest_as_single(before if is_open != is_low else number)
            return math.nextafter(last, math.inf) if is_low else last
        after = math.nextafter(number, math.inf)
        return number if not is_open else after if is_low else before

    def check(self) -> None:
        """Refuse combinations that have no meaning, or one that evaluators disagree on."""
        name, data, mining = shown(self.name), self.data, self.mining
        if mining is not None and mining.given.get("optype", data.need("optype")) != data.need("optype"):
            mining.refuse(f"the optype of {name} differs from that of its DataField, which is not supported")
        if self.is_number and self.type not in ("double", "float", "integer"):
            data.refuse(f'dataType="{self.type}" of the continuous field {name} is not supported')
        if not self.is_number and self.type == "float":
            data.refuse(f'dataType="float" of the categorical field {name} is not supported; use string or integer')
        if self.is_number and self.valid:
            data.refuse(f"a list of valid Values of the continuous field {name} is not supported; use an Interval")
        if not self.is_number and data.all("Interval"):
            data.refuse(f"an Interval of the categorical field {name} is not supported")
        if self.type == "boolean" and self.valid and len(self.valid) != 2:
            data.refuse(f"expected the Values true and false of the boolean field {name}, or none")

    def spelled_value(self, text: str, place: Element | AttributeTest) -> str:
        """Return a constant of this field as the field's type spells it, so that equal constants are equal texts."""
        if self.type == "boolean":
            word = {"1": "true", "0": "false"}.get(text, text.lower())
            return word if word in ("true", "false") else _refuse(place, f"expected true or false for {self._shown}")
        if self.type == "string":
            if plain_word(text) != text:
                _refuse(place, f"expected text that does not spell a number in two ways for {self._shown}")
            return text
        if not re.fullmatch(NUMBER, text):
            _refuse(place, f"expected a number below 1e150 for {self._shown}, which is of the type {self.type}")
        if self.is_number:
            return text
        number = Fraction(text)
        if self.type == "integer" and number.denominator != 1:
            _refuse(place, f"expected a whole number for {self._shown}")
        return str(number.numerator) if number.denominator == 1 else value_text(float(text))

    @property
    def _shown(self) -> str:
        return shown(self.name)

    def spelled(self, one: AttributeTest) -> AttributeTest:
        """Return a question with its constants as the type of the field spells them."""
        if not self.is_number and one.operator in _ORDERED and self.data.need("optype") != "ordinal":
            raise one.problem(f"expected a test that fits {self._shown}, which is categorical and has no order.")
        if not self.is_number and one.operator in _ORDERED and not self.valid:
            raise one.problem(f"expected Values of {self._shown}, whose order decides the test.")
        values = tuple(self.spelled_value(value, one) for value in one.values)
        invalid = [value for value in values if self.valid and value not in self.valid]
        if invalid and self.invalid != "asIs":
            raise one.problem(f"expected a test of {self._shown} with one of its valid Values; no other is predicted.")
        return replace(one, values=values, single=self.type == "float")

    def attribute(self, questions: Sequence[AttributeTest], *, never_missing: bool) -> Attribute:
        """Return the attribute of a schema that is made of the file alone."""
        missing = "error" if never_missing else "bin"
        outside = "error" if self.invalid == "returnInvalid" or never_missing else "bin"
        spelled = self.missing_words
        if never_missing and spelled and (self.is_number or outside == "bin" or not self.valid):
            problem = "expected no Value that means missing where a missing value has no prediction, got one"
            self.data.refuse(f"{problem}; delete it, and leave out the rows that have it")
        if self.is_number:
            whole = self.type == "integer"
            if self.interval is not None and self.invalid != "asIs":
                kind, cast = (Integer, int) if whole else (Real, float)
                low, high = map(cast, self.interval)
                return kind(low, high, (), missing=missing, missing_values=spelled, outside=outside, source=_STATED)
            if whole:
                low, high = -_LARGEST_WHOLE, _LARGEST_WHOLE
                return Integer(low, high, (), missing=missing, missing_values=spelled, source=SOURCE)
            limits = [x for each in questions if each.values for x in each.limits(whole=False)]
            ends = min(limits, default=0), max(limits, default=0)
            return bounded(*ends, missing=missing, missing_values=spelled)
        spelled = () if never_missing else spelled
        if self.type == "boolean":
            return Boolean(missing=missing, missing_values=spelled)
        values = tuple(dict.fromkeys([*self.valid, *(value for each in questions for value in each.values)]))
        is_ordered = self.data.need("optype") == "ordinal" and len(self.valid) > 1 and values == self.valid
        kind = Ordered if is_ordered else Categorical
        outside = outside if self.valid else "bin"
        return kind(values, missing=missing, outside=outside, missing_values=spelled)

    def narrowed(self, attribute: Attribute) -> Attribute:
        """Return an attribute of a given schema without the values for which the file has no prediction."""
        number, changes = as_number(attribute), dict[str, object]()
        self._check_fits(attribute, number)
        words = [word for word in self.missing_words if word not in map(plain_word, attribute.missing_values)]
        if words and attribute.missing == "error":
            self.data.refuse(f"values of {self._shown} mean missing; declare `missing: bin` for it in the schema")
        if words:
            changes["missing_values"] = (*attribute.missing_values, *words)
        if self.refuses_missing and attribute.missing == "bin":
            if attribute.missing_values:
                self.data.refuse(f"missing values of {self._shown} are not predicted; declare `missing: error` for it")
            changes["missing"] = "error"
        if self.invalid == "returnInvalid" and number is not None and self.interval is not None:
            return _inside(number, self.interval, self, changes)
        if self.invalid == "returnInvalid" and self.valid and not isinstance(attribute, Boolean):
            kept = tuple(value for value in attribute.listed if plain_word(value) in self.valid)
            if not kept:
                self.data.refuse(f"expected a valid Value of {self._shown} that the schema allows, got none")
            changes |= {"values": kept, "outside": "error"}
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
            problem = f"numbers outside the domain of {self._shown} can be whole or not, which the model tells apart"
            advice = "declare `outside: error` for it in the schema"
        elif number is not None and not self.is_number and (self.valid or self.type == "boolean"):
            advice = "declare it as categorical or boolean"
        elif isinstance(attribute, Ordered) and self.data.need("optype") == "ordinal":
            order = [value for value in self.valid if value in map(plain_word, attribute.listed)]
            if order != [plain_word(value) for value in attribute.listed if plain_word(value) in self.valid]:
                problem, advice = f"the schema has another order of {self._shown} than the file", "use that of the file"
        elif isinstance(attribute, Boolean) and self.valid and self.type != "boolean":
            words = {plain_word(word) for word, _ in attribute.spellings} or {"true", "false"}
            advice = "" if words <= set(self.valid) else "declare it as categorical"
        if advice:
            self.data.refuse(f"{problem}; {advice}")

    @property
    def _drops_other_numbers(self) -> bool:
        """True if numbers that are not whole count as missing, as do all outside an interval."""
        return self.type == "integer" and self.invalid == "asMissing" and self.interval is not None

    def absent(self, attribute: Attribute) -> Mask:
        """Return the bins of an attribute whose values count as missing, since they are invalid."""
        found = np.zeros(attribute.n_bins, dtype=bool)
        if self.invalid != "asMissing" or not (self.valid or self.interval):
            return found
        number, known = as_number(attribute), attribute.n_known
        outside = attribute.n_known + (attribute.missing == "bin")
        if number is not None and self.interval is not None:
            low, high = _ends(number, self.interval)
            edges = np.array([math.nextafter(number.low, -math.inf), *number.cuts, number.high])
            found[:known] = (edges[:-1] >= high) | (edges[1:] < low)
            is_all_outside = number.low <= low and high <= number.high
            is_known = number.outside == "error" or is_all_outside
        else:
            listed = ("false", "true") if isinstance(attribute, Boolean) else attribute.listed
            places = {plain_word(value): place for place, value in enumerate(listed)}
            for word in set(places) - set(self.valid):
                found[places[word]] = True
            is_known = attribute.outside == "error" or set(self.valid) <= set(places)
        if not is_known or (number is not None and number.outside == "clip"):
            advice = "declare `outside: error` for it in the schema"
            self.data.refuse(f"values of {self._shown} outside the schema's domain can be valid or invalid; {advice}")
        found[outside:] = True
        return found


def fields_of(parts: Iterable[Element], model: Element) -> dict[str, PmmlField]:
    """Return the fields of a document by their names."""
    mining = dict[str, Element]()
    for one in (one for part in model.all("MiningSchema") for one in part.all("MiningField")):
        if one.need("name") in mining:
            one.refuse(f"expected one MiningField {shown(one.need('name'))}, got a second")
        mining[one.need("name")] = one
    found = dict[str, PmmlField]()
    for one in (one for part in parts for one in part.all("DataField")):
        if one.need("name") in found:
            one.refuse(f"expected one DataField {shown(one.need('name'))}, got a second")
        found[one.need("name")] = PmmlField(one, mining.get(one.need("name")))
    for name in (name for name in mining if name not in found):
        mining[name].refuse(f"expected a DataField {shown(name)} for this MiningField")
    for one in found.values():
        one.check()
    return found


def _whole_end(number: float, *, is_open: bool, is_low: bool) -> int:
    if is_low:
        return math.floor(number) + 1 if is_open else math.ceil(number)
    return math.ceil(number) - 1 if is_open else math.floor(number)


def _ends(number: Numeric, interval: tuple[float, float]) -> tuple[float, float]:
    """Return the least and the largest value of a number inside an interval."""
    return (math.ceil(interval[0]), math.floor(interval[1])) if number.whole else interval


def _inside(number: Numeric, interval: tuple[float, float], field: PmmlField, changes: dict[str, object]) -> Attribute:
    """Return a number within an interval; values outside of it are refused."""
    first, last = _ends(number, interval)
    low, high = max(number.low, first), min(number.high, last)
    if not low < high:
        field.data.refuse(f"expected an Interval of {shown(field.name)} that holds numbers of the schema")
    kept = tuple(cut for cut in number.cuts if low <= cut < high)
    return replace(number, low=number.scalar(low), high=number.scalar(high), cuts=kept, outside="error", **changes)


def _refuse(place: Element | AttributeTest, text: str) -> str:
    if isinstance(place, Element):
        place.refuse(text)
    raise place.problem(f"{text}.")
