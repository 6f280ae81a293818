"""PMML: decision trees, those of R's rpart too, rule sets and scorecards. What else changes the meaning is refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
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
from hedgerow.models.readers.documents import Document, Element, document
from hedgerow.models.readers.pmml_contents import contents_of, guarantee_facts
from hedgerow.models.readers.pmml_fields import PmmlField, fields_of
from hedgerow.models.readers.pmml_forms import MODELS, listed
from hedgerow.models.readers.pmml_nodes import (
    PREDICATES,
    answers,
    conjuncts,
    field_of,
    is_surrogate,
    leaf_counts,
    predicate_of,
    question_of,
    questions_of,
)
from hedgerow.models.readers.questions import MOST_PARTS, AttributeTest, BinChoice, TestedSchema
from hedgerow.models.readers.rules_text import literals_of
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.models.scorecard import Scorecard
from hedgerow.privacy.facts import Fact
from hedgerow.schema import Attribute, Number, Schema
from hedgerow.text.messages import shown

_NONE, _MISSING = -1, -2
_MOST_CHILDREN = 100
_BEFORE = ("Header", "MiningBuildTask", "DataDictionary", "TransformationDictionary")  # the model in a document


def model_of_pmml(text: str, schema: Schema | None) -> Model:
    found = document(text)
    models = [one for one in found.root.children if one.tag not in _BEFORE]
    if found.root.tag != "PMML" or len(models) != 1 or models[0].tag not in MODELS:
        got = ", ".join(shown(one.tag) for one in models[:3]) or "none"
        raise ModelFormatError(f"expected PMML with one model of {', '.join(MODELS)}; got {got}.")
    for _ in listed(found.root):  # everything that is not listed is refused before anything is read
        pass
    reader = _Pmml(found, models[0], schema)
    return reader.read().with_contents(contents_of(found, models[0], schema, counts=reader.counts))


@dataclass
class _Pmml:
    """A model in a document, and the schema that is given for it."""

    document: Document
    model: Element
    given: Schema | None
    counts: Mapping[Element, Mapping[str, int]] = field(default_factory=dict[Element, dict[str, int]])  # of leaves

    @cached_property
    def fields(self) -> Mapping[str, PmmlField]:
        return fields_of(self.document.root.all("DataDictionary"), self.model)

    @cached_property
    def target(self) -> PmmlField | None:
        """The field that is predicted, if the document names it."""
        found = [
            one
            for one in self.fields.values()
            if one.mining is not None and one.mining.given.get("usageType") in ("target", "predicted")
        ]
        if len(found) > 1:
            found[1].data.refuse("expected one field with the usageType target, got a second")
        return found[0] if found else None

    @property
    def is_number(self) -> bool:
        """True if the model predicts a number."""
        is_number = self.model.need("functionName") == "regression"
        if is_number and self.target is not None and not self.target.is_number:
            self.target.data.refuse("expected a continuous target of a regression")
        if self.given is not None and (self.given.target.as_number is not None) != is_number:
            kind = "a number" if is_number else "classes"
            self.model.refuse(f"expected a schema whose label is {kind}, as the model predicts {kind}")
        return is_number

    def score(self, text: str, place: Element) -> str:
        """Return a score as the type of the target spells it."""
        target = self.target
        if target is None:
            return text
        if target.is_number and not self.is_number:  # the names of classes
            return text
        found = target.spelled_value(text, place)
        if target.valid and found not in target.valid:
            place.refuse(f"expected one of the target's Values as a score, got {shown(text)}")
        number = AttributeTest(target.name, "=", (found,), place.line).number if self.is_number else None
        if number is not None and target.type == "integer" and not number.is_integer():
            place.refuse(f"expected a whole number as the score of an integer target, got {shown(text)}")
        if number is not None and target.type == "float":
            return repr(float(np.float32(number)))
        return found

    def read(self) -> Model:
        card = asking.no_guarantee("PMML", is_ours=bool(guarantee_facts(self.document.root)))
        if self.model.tag == "TreeModel":
            return self._tree(card)
        return self._rule_set(card) if self.model.tag == "RuleSetModel" else self._scorecard(card)

    def asked(self, parts: Sequence[Element], scores: Sequence[str]) -> TestedSchema:
        """Return the given schema, or a schema built from the model's tests, with all cut points of the model."""
        predicates = [one for part in parts for one in part.all(*PREDICATES)]
        questions = [self.spelled(one) for predicate in predicates for one in questions_of(predicate)]
        tested = dict.fromkeys(one.attribute for one in questions if one.attribute in self.fields)
        schema = self.given
        if schema is None:
            hidden = self._never_missing(parts, questions)
            declared = {name: self._attribute(name, questions, never_missing=name in hidden) for name in tested}
            name = "prediction" if self.target is None else self.target.name
            schema = asking.derived(questions, asking.target_of(name, scores, is_number=self.is_number), declared)
        else:
            used = {name for name in tested if name in schema}
            narrowed = ((name, self.fields[name].narrowed(x) if name in used else x) for name, x in schema.attributes)
            narrow = replace(schema, attributes=tuple(narrowed))
            schema = schema if narrow == schema else replace(narrow, no_guarantee=(_NARROWED,))
        found = TestedSchema.of(schema, questions)
        return replace(found, absent={name: self.fields[name].absent(found.schema[name]) for name in tested})

    def spelled(self, one: AttributeTest) -> AttributeTest:
        """Return a question with its constants as the type of its field spells them."""
        found = self.fields.get(one.attribute)
        if found is None:
            raise one.problem(f"expected an attribute with a DataField, got {shown(one.attribute)}.")
        if found.mining is not None and found.mining.given.get("usageType", "active") != "active":
            found.mining.refuse(f"expected an active field, as the model tests it: {shown(one.attribute)}")
        return found.spelled(one)

    def answers(self, asked: TestedSchema, predicate: Element) -> tuple[Mask, Mask]:
        return answers(lambda one: asked.told(self.spelled(one)), predicate)

    def _never_missing(self, parts: Sequence[Element], questions: Sequence[AttributeTest]) -> set[str]:
        """Return the fields whose missing values have no prediction, or one by other fields."""
        refused = {name for name, one in self.fields.items() if one.refuses_missing}
        surrogate = [x for part in parts for x in part.all("CompoundPredicate") if is_surrogate(x)]
        refused |= {one.attribute for x in surrogate for one in questions_of(x)}
        if self.model.tag != "TreeModel":
            return refused
        strategy, last = self.strategy
        if strategy == "nullPrediction" or (strategy == "none" and last == "returnNullPrediction"):
            return refused | (set(self.fields) - {one.attribute for one in questions if not one.values})
        return refused

    @property
    def strategy(self) -> tuple[str, str]:
        given = self.model.given
        return given.get("missingValueStrategy", "none"), given.get("noTrueChildStrategy", "returnNullPrediction")

    def _attribute(self, name: str, questions: Sequence[AttributeTest], *, never_missing: bool) -> Attribute:
        own = [one for one in questions if one.attribute == name]
        return self.fields[name].attribute(own, never_missing=never_missing)

    def _tree(self, card: Any) -> Model:
        root = self.model.first("Node") or self.model.refuse("expected a TreeModel with a Node, got none")
        nodes = [one for one in root.walk() if one.tag == "Node"]
        for one in nodes:
            predicate_of(one)
        if root.first("True") is None:
            root.refuse("expected the predicate True in the first Node, got another")
        scores = [self.score(one.given["score"], one) for one in nodes if "score" in one.given]
        classes = [self.score(x.need("value"), x) for one in nodes for x in one.all("ScoreDistribution")]
        asked = self.asked(nodes, scores if self.is_number else [*scores, *classes])
        counts = {} if self.is_number else leaf_counts(nodes, self.score)
        self.counts = counts
        growth = _Growth(asked, self, counts)
        found = asking.model_of(asked, growth.grown(root), card)
        _check_used(found, growth.tested)
        return found

    def _rule_set(self, card: Any) -> Model:
        rule_set = self.model.first("RuleSet") or self.model.refuse("expected a RuleSetModel with a RuleSet, got none")
        method = rule_set.first("RuleSelectionMethod") or rule_set.refuse("expected a RuleSelectionMethod, got none")
        method.one_of("criterion", "", "firstHit")
        rules = rule_set.all("SimpleRule")
        if len(rules) > MOST_PARTS:
            rules[MOST_PARTS].refuse(f"expected at most {MOST_PARTS:,} rules, got more")
        scores = [self.score(one.need("score"), one) for one in rules]
        scores.append(self.score(rule_set.need("defaultScore"), rule_set))
        asked = self.asked(rules, scores)
        made = list[Rule]()
        for one, score in zip(rules, scores, strict=False):
            simple = [self.spelled(question_of(each)) for each in conjuncts(predicate_of(one))]
            literals = [x for each in simple for x in literals_of(asked, each)]
            made.append(Rule.of(tuple(dict.fromkeys(literals)), asked.leaf(score, None, one.line)))
            if not literals:  # it holds of every row
                break
        else:
            made.append(Rule.of((), asked.leaf(scores[-1], None, rule_set.line)))
        return RuleList(asked.schema, tuple(made), card)

    def _scorecard(self, card: Any) -> Model:
        if self.target is not None and self.target.type == "float":
            self.target.data.refuse('dataType="float" of the target of a Scorecard is not supported; use double')
        parts = [one for part in self.model.all("Characteristics") for one in part.all("Characteristic")]
        bins = [one for part in parts for one in part.all("Attribute")]
        if len(bins) > MOST_PARTS or not bins:
            self.model.refuse(f"expected a Scorecard with 1 to {MOST_PARTS:,} Attributes, got another number")
        start = self.amount(self.model, "initialScore", "0")
        points = [[self.amount(one, "partialScore") for one in part.all("Attribute")] for part in parts]
        low, high = (start + sum((end(x) for x in points if x), Fraction(0)) for end in (min, max))
        asked = self.asked(bins, [repr(float(low)), repr(float(high))])
        number = asked.schema.target.as_number if self.is_number else None
        if number is None or low < Fraction(number.low) or high > Fraction(number.high):
            self.model.refuse("expected a schema whose label is a number whose bounds hold every score, got another")
        found = self._points(asked, number, parts, start, card)
        _check_used(found, {field_of(predicate_of(one)): one for one in bins if predicate_of(one).tag != "True"})
        return found

    def _points(
        self, asked: TestedSchema, number: Number, parts: Sequence[Element], start: Fraction, card: Any
    ) -> Scorecard:
        """Return the scorecard of a number: its unit is the greatest common divisor of all scores."""
        found: dict[str, list[Fraction]] = {}
        for part in parts:
            name, scores = self._bin_scores(asked, part)
            before = found.get(name, [Fraction(0)] * len(scores))
            found[name] = [x + y for x, y in zip(before, scores, strict=True)]
        amounts = [start - Fraction(number.low), *(x for scores in found.values() for x in scores)]
        below = lcm(*(x.denominator for x in amounts))
        unit = Fraction(gcd(*(int(x * below) for x in amounts)) or below, below)
        if any(abs(x / unit) > MOST_POINTS for x in amounts):
            parts[0].refuse("expected scores that are multiples of one step, at most 1,000,000 of them, got others")
        rows = [AttributePoints(name, tuple((int(x / unit),) for x in scores)) for name, scores in found.items()]
        return Scorecard(asked.schema, (int(amounts[0] / unit),), tuple(rows), float(unit), None, card)

    def _bin_scores(self, asked: TestedSchema, part: Element) -> tuple[str, list[Fraction]]:
        """Return the field of a Characteristic, and the score of each bin of it."""
        names = {one.attribute for each in part.all("Attribute") for one in questions_of(predicate_of(each))}
        if len(names) != 1:
            part.refuse("expected a Characteristic about one field, got none or several")
        name = names.pop()
        left, scores = np.ones(asked.schema[name].n_bins, dtype=bool), [Fraction(0)] * asked.schema[name].n_bins
        for each in part.all("Attribute"):
            predicate = predicate_of(each)
            yes = np.ones_like(left) if predicate.tag == "True" else self.answers(asked, predicate)[0]
            for place in np.flatnonzero(yes & left):
                scores[place] = self.amount(each, "partialScore")
            left &= ~yes
        if left.any():
            problem = f"expected an Attribute for every value of {shown(name)} that the schema allows, got fewer"
            part.refuse(f"{problem}; declare `missing: error` and `outside: error` for it in a schema")
        return name, scores

    def amount(self, one: Element, name: str, default: str | None = None) -> Fraction:
        text = one.given.get(name, default) or one.need(name)
        found = Fraction(text) if len(text) <= _LONGEST_AMOUNT else asking.LARGEST
        if abs(found) >= asking.LARGEST:
            one.refuse(f"expected a number below 1e150 as {name}")
        if self.target is not None and self.target.type == "integer" and Fraction(found).denominator != 1:
            one.refuse(f"expected a whole number as {name}, as the target is an integer")
        return Fraction(found)


def _check_used(model: Model, tested: Mapping[str, Element]) -> None:
    """Refuse tests that all values pass: evaluators still give no prediction if the value is invalid or missing."""
    for name in (name for name in tested if name not in model.used_attributes):
        problem = f"the tests of {shown(name)} make no difference between the values that are allowed"
        tested[name].refuse(f"{problem}; export the model without them")


_NARROWED = Fact("narrowed")
_LONGEST_AMOUNT = 60  # characters of a score


@dataclass(frozen=True)
class _Growth:
    """A tree that grows from the nodes of a document, by what it says about missing values."""

    asked: TestedSchema
    reader: _Pmml
    counts: Mapping[Element, Mapping[str, int]]  # of the leaves, by class
    tested: dict[str, Element] = field(default_factory=dict[str, Element])  # the fields of the tests that are reached
    seen: list[Element] = field(default_factory=list[Element])  # once for each time that they were grown

    @property
    def missing(self) -> str:
        return self.reader.strategy[0]

    def grown(self, node: Element) -> BinChoice | Leaf:
        self.seen.append(node)
        if len(self.seen) > MOST_PARTS:
            node.refuse(f"expected a tree of at most {MOST_PARTS:,} Nodes, got a larger one")
        children = node.all("Node")
        if len(children) > _MOST_CHILDREN:
            node.refuse(f"expected at most {_MOST_CHILDREN} children of a Node, got more")
        return self._choice(node, children, children) if children else self._leaf(node)

    def _choice(self, node: Element, children: Sequence[Element], left: Sequence[Element]) -> BinChoice | Leaf:
        """Return where rows go that none of the children before those left has taken."""
        if not left:
            return self._leaf(node) if self.reader.strategy[1] == "returnLastPrediction" else self._nothing(node)
        if predicate_of(left[0]).tag == "True":
            return self.grown(left[0])
        name = field_of(predicate_of(left[0]))
        self.tested.setdefault(name, left[0])
        same = [*takewhile(lambda one: predicate_of(one).tag != "True" and field_of(predicate_of(one)) == name, left)]
        targets = self._targets(node, same, name)
        made: dict[int, BinChoice | Leaf] = {}
        for target in dict.fromkeys(targets):
            if target >= 0:
                made[target] = self.grown(same[target])
            elif target == _NONE:
                made[target] = self._choice(node, children, left[len(same) :])
            else:
                made[target] = self._of_missing(node, children)
        return BinChoice.of(self.asked, name, targets, made)

    def _targets(self, node: Element, same: Sequence[Element], name: str) -> list[int]:
        """Return for each bin of a field the place of the child that takes it, `_NONE` or `_MISSING`."""
        ids = [one.given.get("id") for one in same]
        names = [one.given["id"] for one in node.all("Node") if "id" in one.given]
        if len(set(names)) < len(names):
            node.refuse("expected children of a Node with distinct ids")
        is_here = self.missing == "defaultChild" and node.given.get("defaultChild") in ids
        default = ids.index(node.given["defaultChild"]) if is_here else _MISSING
        targets = [_NONE] * self.asked.schema[name].n_bins
        for place, child in enumerate(same):
            yes, unknown = self.reader.answers(self.asked, predicate_of(child))
            if is_surrogate(predicate_of(child)) and unknown.any():
                problem = f"surrogates of {shown(name)}, which may be missing by the schema, are not supported"
                child.refuse(f"{problem}; declare `missing: error` for it, or fit rpart with maxsurrogate = 0")
            for at in np.flatnonzero((yes | unknown) & (np.array(targets) == _NONE)).tolist():
                if yes[at] or self.missing != "none":
                    targets[at] = place if yes[at] else default
        return targets

    def _of_missing(self, node: Element, children: Sequence[Element]) -> BinChoice | Leaf:
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
        if "score" not in node.given:
            node.refuse("expected a Node with a score, got one without")
        score = self.reader.score(node.given["score"], node)
        return self.asked.leaf(score, self.counts.get(node), node.line)
