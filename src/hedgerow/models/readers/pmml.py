"""PMML: decision trees, those of R's rpart too, rule sets and scorecards. What else changes the meaning is refused."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, reduce
from itertools import takewhile
from math import gcd, lcm
from typing import Any, NoReturn

import numpy as np

from hedgerow.boundary.arrays import Mask
from hedgerow.errors import ModelFormatError
from hedgerow.models.leaf import Leaf
from hedgerow.models.model import Model
from hedgerow.models.points import MOST_POINTS, AttributePoints
from hedgerow.models.readers import questions as asking
from hedgerow.models.readers.documents import SILENT, Element, document
from hedgerow.models.readers.questions import MOST_PARTS, Asked, Choice, Question
from hedgerow.models.readers.rules_text import literals_of
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.schema import Attribute, Categorical, Number, Schema
from hedgerow.text.messages import shown
from hedgerow.text.values import NUMBER

_NONE, _MISSING = -1, -2
_MOST_CHILDREN = 100
_MODELS = ("TreeModel", "RuleSetModel", "Scorecard")
_OPERATORS = {"equal": "=", "notEqual": "!=", "lessThan": "<", "lessOrEqual": "<=", "greaterThan": ">"}
_OPERATORS |= {"greaterOrEqual": ">=", "isMissing": "missing", "isNotMissing": "known"}
_PREDICATES = ("True", "False", "SimplePredicate", "SimpleSetPredicate", "CompoundPredicate")
_QUOTED = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^\s"]+))')
_COUNT = re.compile(r"[0-9]{1,18}([.]0+)?")


def model_of_pmml(text: str, schema: Schema | None) -> Model:
    root = document(text)
    models = [one for one in root.children if one.tag not in ("DataDictionary", "TransformationDictionary", *SILENT)]
    if root.tag != "PMML" or len(models) != 1 or models[0].tag not in _MODELS:
        found = ", ".join(shown(one.tag) for one in models[:3]) or "none"
        raise ModelFormatError(f"expected PMML with one model of {', '.join(_MODELS)}; got {found}.")
    for one in root.all("TransformationDictionary"):
        one.only()
    return _Pmml(root, models[0], schema).read()


@dataclass
class _Pmml:
    """A model in a document, and the schema that is given for it."""

    root: Element
    model: Element
    given: Schema | None

    @cached_property
    def fields(self) -> dict[str, Element]:
        return {one.need("name"): one for part in self.root.all("DataDictionary") for one in part.all("DataField")}

    @cached_property
    def mining(self) -> dict[str, Element]:
        found = {one.need("name"): one for part in self.model.all("MiningSchema") for one in part.all("MiningField")}
        for one in found.values():
            if "missingValueReplacement" in one.given:
                one.refuse("missingValueReplacement is not supported; replace missing values in the rows beforehand")
            one.one_of("outliers", "asIs", "asIs")
            one.one_of("invalidValueTreatment", "returnInvalid", "returnInvalid", "asIs", "asMissing")
        return found

    @property
    def target(self) -> str:
        found = [name for name, one in self.mining.items() if one.given.get("usageType") in ("target", "predicted")]
        return found[0] if found else "prediction"

    def read(self) -> Model:
        stated = (one.given.get("description", "") for one in self.root.all("Header"))
        ours = any(one.startswith("guarantee:") and not one.startswith("guarantee: none") for one in stated)
        card = asking.no_guarantee("PMML", is_ours=ours)
        self.model.one_of("x-mathContext", "double", "double")
        self.model.one_of("isScorable", "true", "true", "1")
        for one in self.model.all("LocalTransformations"):
            one.only()
        if self.model.tag == "TreeModel":
            return self._tree(card)
        return self._rule_set(card) if self.model.tag == "RuleSetModel" else self._scorecard(card)

    def asked(self, parts: Sequence[Element], scores: Sequence[str], *, is_number: bool) -> Asked:
        """Return the schema, that of the file or else that of the model's tests, with all its cut points."""
        questions = [one for part in parts for predicate in part.all(*_PREDICATES) for one in _questions(predicate)]
        absent = {name for name, one in self.mining.items() if one.given.get("invalidValueTreatment") == "asMissing"}
        schema = self.given
        if schema is None:
            hidden = self._never_missing(parts)
            tested = {one.attribute for one in questions} & set(self.fields)
            declared = {name: self._attribute(name, questions, never_missing=name in hidden) for name in tested}
            schema = asking.derived(questions, asking.target_of(self.target, scores, is_number=is_number), declared)
        return Asked.of(schema, questions, frozenset(absent))

    def _never_missing(self, parts: Sequence[Element]) -> set[str]:
        """Return the fields whose missing values have no prediction, or one by other fields."""
        treatments = {name: one.given.get("missingValueTreatment") for name, one in self.mining.items()}
        refused = {name for name, treatment in treatments.items() if treatment == "returnInvalid"}
        strategy, last = self._strategy if self.model.tag == "TreeModel" else ("", "")
        if strategy == "nullPrediction" or (strategy == "none" and last == "returnNullPrediction"):
            return set(self.fields)
        surrogate = [x for part in parts for x in part.all("CompoundPredicate") if _is_surrogate(x)]
        return refused | {one.attribute for x in surrogate for one in _questions(x)}

    @property
    def _strategy(self) -> tuple[str, str]:
        names = ("none", "lastPrediction", "nullPrediction", "defaultChild")
        missing = self.model.one_of("missingValueStrategy", "none", *names)
        nulls = ("returnNullPrediction", "returnLastPrediction")
        return missing, self.model.one_of("noTrueChildStrategy", nulls[0], *nulls)

    def _attribute(self, name: str, questions: Sequence[Question], *, never_missing: bool) -> Attribute:
        one, missing = self.fields[name], "error" if never_missing else "bin"
        treatment = self.mining[name].given.get("invalidValueTreatment", "") if name in self.mining else ""
        is_number, held = one.given.get("optype") == "continuous", one.all("Value")
        valid = [x.need("value") for x in held if x.given.get("property", "valid") == "valid"]
        valid = valid or (["false", "true"] if one.given.get("dataType") == "boolean" else [])
        spelled = tuple(x.need("value") for x in held if x.given.get("property") == "missing")
        outside = "error" if valid and treatment in ("", "returnInvalid") else "bin"
        if never_missing and spelled and (is_number or outside == "bin"):
            problem = "expected no Value that means missing where a missing value has no prediction, got one"
            one.refuse(f"{problem}; delete it, and leave out the rows that have it")
        if is_number:
            one.one_of("dataType", "double", "double", "integer")
            asked = [each for each in questions if each.attribute == name and each.values]
            limits = [limit for each in asked for limit in each.limits(whole=False)]
            ends, whole = (min(limits, default=0), max(limits, default=0)), one.given.get("dataType") == "integer"
            return asking.bounded(*ends, whole=whole, missing=missing, missing_values=spelled)
        asked = [value for each in questions if each.attribute == name for value in each.values]
        values = tuple(dict.fromkeys([*valid, *asked]))
        return Categorical(values, missing=missing, outside=outside, missing_values=() if never_missing else spelled)

    def _tree(self, card: Any) -> Model:
        self.model.only("Node", "LocalTransformations")
        root = self.model.first("Node") or self.model.refuse("expected a TreeModel with a Node, got none")
        is_number = self.model.one_of("functionName", "", "classification", "regression") == "regression"
        nodes = list(_nodes(root))
        if root.first("True") is None:
            root.refuse("expected the predicate True in the first Node, got another")
        scores = [one.given["score"] for one in nodes if "score" in one.given]
        classes = [x.need("value") for one in nodes for x in one.all("ScoreDistribution")]
        asked = self.asked(nodes, scores if is_number else [*scores, *classes], is_number=is_number)
        return asking.model_of(asked, _Growth(asked, *self._strategy, is_number=is_number).grown(root), card)

    def _rule_set(self, card: Any) -> Model:
        self.model.only("RuleSet", "LocalTransformations")
        self.model.one_of("functionName", "classification", "classification")
        rule_set = self.model.first("RuleSet") or self.model.refuse("expected a RuleSetModel with a RuleSet, got none")
        rule_set.only("SimpleRule")
        method = rule_set.first("RuleSelectionMethod") or rule_set.refuse("expected a RuleSelectionMethod, got none")
        method.one_of("criterion", "", "firstHit")
        rules = rule_set.all("SimpleRule")
        if len(rules) > MOST_PARTS:
            rules[MOST_PARTS].refuse(f"expected at most {MOST_PARTS:,} rules, got more")
        scores = [one.need("score") for one in rules] + [rule_set.need("defaultScore")]
        asked = self.asked(rules, scores, is_number=False)
        made = list[Rule]()
        for one, score in zip(rules, scores, strict=False):
            one.only(*_PREDICATES)
            literals = [x for each in _conjuncts(_predicate(one)) for x in literals_of(asked, each)]
            made.append(Rule.of(tuple(dict.fromkeys(literals)), asked.leaf(score, None, one.line)))
            if not literals:  # it holds of every row
                break
        else:
            made.append(Rule.of((), asked.leaf(scores[-1], None, rule_set.line)))
        return RuleList(asked.schema, tuple(made), card)

    def _scorecard(self, card: Any) -> Model:
        self.model.only("Characteristics", "LocalTransformations")
        outputs = [one for part in self.model.all("Output") for one in part.all("OutputField")]
        for one in outputs:
            one.one_of("feature", "predictedValue", "predictedValue", "reasonCode")  # others say what a total means
        parts = [one for part in self.model.all("Characteristics") for one in part.all("Characteristic")]
        bins = [one for part in parts for one in part.all("Attribute")]
        if len(bins) > MOST_PARTS or not bins:
            self.model.refuse(f"expected a Scorecard with 1 to {MOST_PARTS:,} Attributes, got another number")
        for one in bins:
            one.only(*_PREDICATES)
        start = _amount(self.model, "initialScore", "0")
        points = [[_amount(one, "partialScore") for one in part.all("Attribute")] for part in parts]
        low, high = (start + sum((end(x) for x in points if x), Fraction(0)) for end in (min, max))
        asked = self.asked(bins, [repr(float(low)), repr(float(high))], is_number=True)
        number = asked.schema.target.as_number
        if number is None or low < Fraction(number.low) or high > Fraction(number.high):
            self.model.refuse("expected a schema whose label is a number whose bounds hold every score, got another")
        return _points(asked, number, parts, start, card)


def _points(asked: Asked, number: Number, parts: Sequence[Element], start: Fraction, card: Any) -> Scorecard:
    """Return the scorecard of a number: its unit is the largest of which all scores are multiples."""
    found: dict[str, list[Fraction]] = {}
    for part in parts:
        questions = [one for each in part.all("Attribute") for one in _questions(_predicate(each))]
        names = {one.attribute for one in questions}
        if len(names) != 1:
            part.refuse("expected a Characteristic about one field, got none or several")
        name = names.pop()
        left, scores = np.ones(asked.schema[name].n_bins, dtype=bool), [Fraction(0)] * asked.schema[name].n_bins
        for each in part.all("Attribute"):
            predicate = _predicate(each)
            yes = np.ones_like(left) if predicate.tag == "True" else _told(asked, predicate)[0]
            for place in np.flatnonzero(yes & left):
                scores[place] = _amount(each, "partialScore")
            left &= ~yes
        if left.any():
            problem = f"expected an Attribute for every value of {shown(name)} that the schema allows, got fewer"
            part.refuse(f"{problem}; declare `missing: error` and `outside: error` for it in a schema")
        before = found.get(name, [Fraction(0)] * len(scores))
        found[name] = [x + y for x, y in zip(before, scores, strict=True)]
    amounts = [start - Fraction(number.low), *(x for scores in found.values() for x in scores)]
    below = lcm(*(x.denominator for x in amounts))
    unit = Fraction(gcd(*(int(x * below) for x in amounts)) or below, below)
    if any(abs(x / unit) > MOST_POINTS for x in amounts):
        parts[0].refuse("expected scores that are multiples of one step, at most 1,000,000 of them, got others")
    rows = [AttributePoints(name, tuple((int(x / unit),) for x in scores)) for name, scores in found.items()]
    return Scorecard(asked.schema, (int(amounts[0] / unit),), tuple(rows), float(unit), None, card)


@dataclass(frozen=True)
class _Growth:
    """A tree that grows from the nodes of a document, by what it says about missing values."""

    asked: Asked
    missing: str
    last: str
    is_number: bool
    seen: list[Element] = field(default_factory=list[Element])  # once for each time that they were grown

    def grown(self, node: Element) -> Choice | Leaf:
        self.seen.append(node)
        if len(self.seen) > MOST_PARTS:
            node.refuse(f"expected a tree of at most {MOST_PARTS:,} Nodes, got a larger one")
        children = node.all("Node")
        if len(children) > _MOST_CHILDREN:
            node.refuse(f"expected at most {_MOST_CHILDREN} children of a Node, got more")
        return self._choice(node, children, children) if children else self._leaf(node)

    def _choice(self, node: Element, children: Sequence[Element], left: Sequence[Element]) -> Choice | Leaf:
        """Return where rows go that none of the children before those left has taken."""
        if not left:
            return self._leaf(node) if self.last == "returnLastPrediction" else self._nothing(node)
        if _predicate(left[0]).tag == "True":
            return self.grown(left[0])
        name = _field(_predicate(left[0]))
        same = [*takewhile(lambda one: _predicate(one).tag != "True" and _field(_predicate(one)) == name, left)]
        targets = self._targets(node, same, name)
        made: dict[int, Choice | Leaf] = {}
        for target in dict.fromkeys(targets):
            if target >= 0:
                made[target] = self.grown(same[target])
            elif target == _NONE:
                made[target] = self._choice(node, children, left[len(same) :])
            else:
                made[target] = self._of_missing(node, children)
        return Choice.of(self.asked, name, targets, made)

    def _targets(self, node: Element, same: Sequence[Element], name: str) -> list[int]:
        """Return for each bin of a field the place of the child that takes it, `_NONE` or `_MISSING`."""
        ids = [one.given.get("id") for one in same]
        is_here = self.missing == "defaultChild" and node.given.get("defaultChild") in ids
        default = ids.index(node.given["defaultChild"]) if is_here else _MISSING
        targets = [_NONE] * self.asked.schema[name].n_bins
        for place, child in enumerate(same):
            yes, unknown = _told(self.asked, _predicate(child))
            if _is_surrogate(_predicate(child)) and unknown.any():
                problem = f"surrogates of {shown(name)}, which may be missing by the schema, are not supported"
                child.refuse(f"{problem}; declare `missing: error` for it, or fit rpart with maxsurrogate = 0")
            for at in np.flatnonzero((yes | unknown) & (np.array(targets) == _NONE)).tolist():
                if yes[at] or self.missing != "none":
                    targets[at] = place if yes[at] else default
        return targets

    def _of_missing(self, node: Element, children: Sequence[Element]) -> Choice | Leaf:
        if self.missing == "lastPrediction":
            return self._leaf(node)
        default = node.given.get("defaultChild")
        chosen = [one for one in children if default is not None and one.given.get("id") == default]
        return self.grown(chosen[0]) if self.missing == "defaultChild" and chosen else self._nothing(node)

    def _nothing(self, node: Element) -> NoReturn:
        problem = "rows that are missing a value, or satisfy no child of this Node, have no prediction"
        advice = "pass a schema that declares `missing: error` and `outside: error` for the fields that it tests"
        node.refuse(f"{problem}; {advice}")

    def _leaf(self, node: Element) -> Leaf:
        score, rows = node.given.get("score"), node.all("ScoreDistribution")
        if score is None:
            node.refuse("expected a Node with a score, got one without")
        if self.is_number:
            return self.asked.leaf(score, None, node.line)
        counts = {one.need("value"): one.need("recordCount") for one in rows}
        is_whole = bool(counts) and all(_COUNT.fullmatch(text) for text in counts.values())
        whole = {name: int(text.partition(".")[0]) for name, text in counts.items()} if is_whole else None
        # Rows that a node keeps for itself are those of its children, too.
        return self.asked.leaf(score, None if node.all("Node") else whole, node.line)


def _nodes(root: Element) -> Iterator[Element]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        node.only("Node", *_PREDICATES)
        _predicate(node)
        yield node
        waiting += reversed(node.all("Node"))


def _predicate(one: Element) -> Element:
    found = one.all(*_PREDICATES)
    if len(found) != 1:
        one.refuse(f"expected {one.tag} with one predicate, got {len(found)}")
    return found[0]


def _is_surrogate(one: Element) -> bool:
    return one.tag == "CompoundPredicate" and one.given.get("booleanOperator") == "surrogate"


def _parts(one: Element) -> list[Element]:
    """Return what a compound predicate is made of; of surrogates the first, which the others stand in for."""
    one.one_of("booleanOperator", "", "and", "or", "xor", "surrogate")
    found = one.all(*_PREDICATES)
    if not found:
        one.refuse("expected a CompoundPredicate with predicates, got none")
    return found[:1] if _is_surrogate(one) else found


def _questions(one: Element) -> Iterator[Question]:
    """Yield the questions of a predicate; of surrogates those that are used."""
    if one.tag == "CompoundPredicate":
        for part in _parts(one):
            yield from _questions(part)
    elif one.tag not in ("True", "False"):
        yield _question(one)


def _question(one: Element) -> Question:
    name = one.need("field")
    if one.tag == "SimplePredicate":
        operator = _OPERATORS[one.one_of("operator", "", *_OPERATORS)]
        values = () if operator in ("missing", "known") else (one.need("value"),)
        return Question(name, operator, values, one.line)
    operator = {"isIn": "in", "isNotIn": "not in"}[one.one_of("booleanOperator", "", "isIn", "isNotIn")]
    array = one.first("Array") or one.refuse("expected a SimpleSetPredicate with an Array, got none")
    values = [quoted if plain == "" else plain for quoted, plain in _QUOTED.findall(array.text)]
    return Question(name, operator, tuple(re.sub(r"\\(.)", r"\1", value) for value in values), one.line)


def _field(one: Element) -> str:
    names = {each.attribute for each in _questions(one)}
    if len(names) != 1:
        one.refuse(f"expected a predicate about one field, got {len(names)}; split the Node, or export another model")
    return names.pop()


def _conjuncts(one: Element) -> Iterator[Question]:
    if one.tag == "CompoundPredicate" and one.given.get("booleanOperator") == "and":
        for part in _parts(one):
            yield from _conjuncts(part)
    elif one.tag in ("SimplePredicate", "SimpleSetPredicate"):
        yield _question(one)
    elif one.tag != "True":
        one.refuse(f"{one.tag} {one.given.get('booleanOperator', '')[:20]} in a rule is not supported; use `and` alone")


def _told(asked: Asked, one: Element) -> tuple[Mask, Mask]:
    """Return for each bin whether a predicate about one field is true, and whether it is unknown."""
    if one.tag != "CompoundPredicate":
        return asked.told(_question(one))
    operator, parts = one.given["booleanOperator"], [_told(asked, part) for part in _parts(one)]
    return reduce(lambda a, b: _joined(operator, a, b), parts)


def _joined(operator: str, one: tuple[Mask, Mask], other: tuple[Mask, Mask]) -> tuple[Mask, Mask]:
    """Join two answers by the three-valued logic of PMML."""
    (a, a_unknown), (b, b_unknown) = one, other
    if operator == "xor":
        unknown = a_unknown | b_unknown
        return (a ^ b) & ~unknown, unknown
    if operator == "and":
        false = (~a & ~a_unknown) | (~b & ~b_unknown)
        return a & b, ~(a & b) & ~false
    return a | b, ~(a | b) & (a_unknown | b_unknown)


def _amount(one: Element, name: str, default: str | None = None) -> Fraction:
    text = one.given.get(name, default) or one.need(name)
    if not re.fullmatch(NUMBER, text) or len(text) > 60 or abs(Fraction(text)) >= asking.LARGEST:
        one.refuse(f"expected a number below 1e150 as {name}, got another text")
    return Fraction(text)
