"""Reader of rules as text: lines such as ``if age <= 40 then yes (yes 12, no 3)``, ending with ``else no``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hedgerow.errors import ModelFormatError
from hedgerow.models.extra_contents import Content, comments_content
from hedgerow.models.model import Model
from hedgerow.models.readers.attribute_tests import (
    MOST_PARTS,
    AttributeTest,
    TestedSchema,
    conjunction,
    derived,
    no_guarantee,
    target_of,
)
from hedgerow.models.rule_list import Rule, RuleList
from hedgerow.schema import Literal, Schema
from hedgerow.text.messages import shown
from hedgerow.text.values import LONGEST_TEXT, NUMBER

_LONGEST_LINE = 20_000  # the maximum number of characters of a line
_TOKEN = re.compile(r'\s*(?:"([^"]*)"|(<=|>=|!=|<|>|=|\(|\)|,)|([^\s"<>=!(),#]+)|(#.*))')
_WORDS = ("if", "and", "then", "else", "is", "not", "missing")
_FORM = "expected a line such as: if age <= 40 and sex = f then yes (yes 12, no 3)"
_NO_MODEL = "Tables and schemas are not model files; commands expect the model first, then the table"


@dataclass
class _RuleLine:
    """The tokens of a line: texts, each with a flag that is True if it is not quoted and can be a keyword."""

    number: int
    tokens: list[tuple[str, bool]]
    comment: str = ""
    place: int = 0

    @classmethod
    def of(cls, number: int, text: str) -> "_RuleLine":
        line = cls(number, [])
        if len(text) > _LONGEST_LINE:
            raise line.problem(f"a line may have at most {_LONGEST_LINE:,} characters, got {len(text):,}")
        at, end = 0, len(text.rstrip())
        while at < end:
            token = _TOKEN.match(text, at)
            if token is None:
                raise line.problem(_FORM)
            quoted, mark, word, comment = token.groups()
            line.comment += comment or ""
            if quoted is not None or mark or word:
                line.tokens.append((quoted if quoted is not None else mark or word, quoted is None))
            at = token.end()
        return line

    def problem(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"line {self.number}: {text}.")

    def took(self, *words: str) -> str | None:
        """Return the next token and advance if it is one of these words or marks; otherwise return None."""
        if self.place < len(self.tokens):
            text, is_plain = self.tokens[self.place]
            if is_plain and text in words:
                self.place += 1
                return text
        return None

    def term(self) -> str:
        if self.place < len(self.tokens):
            text, is_plain = self.tokens[self.place]
            if text and len(text) <= LONGEST_TEXT and not (is_plain and (text in _WORDS or text in "<=>=!=(),")):
                self.place += 1
                return text
        raise self.problem(_FORM)

    def condition(self) -> Iterator[AttributeTest]:
        """Yield the tests of a condition; ``30 < age <= 45`` has two."""
        if self.took("not"):
            yield AttributeTest(self.term(), "false", (), self.number)
            return
        name = self.term()
        if self.took("is"):
            operator = "known" if self.took("not") else "missing"
            if not self.took("missing"):
                raise self.problem(_FORM)
            yield AttributeTest(name, operator, (), self.number)
            return
        mark = self.took("<=", ">=", "!=", "<", ">", "=")
        if mark is None:
            yield AttributeTest(name, "true", (), self.number)
            return
        value = self.term()
        second = self.took("<=", "<") if mark in ("<", "<=") and re.fullmatch(NUMBER, name) else None
        if second is None:
            yield AttributeTest(name, mark, (value,), self.number)
            return
        yield AttributeTest(value, {"<": ">", "<=": ">="}[mark], (name,), self.number)
        yield AttributeTest(value, second, (self.term(),), self.number)

    def prediction(self) -> tuple[str, dict[str, int] | None]:
        """Return the predicted class or number, and the counts if there are any."""
        prediction = self.term(), self.counts()
        if self.place < len(self.tokens):
            raise self.problem(_FORM)
        return prediction

    def counts(self) -> dict[str, int] | None:
        if not self.took("("):
            return None
        counts: dict[str, int] = {}
        while not self.took(")"):
            name, rows = self.term(), self.term()
            if name in counts or not re.fullmatch("[0-9]{1,18}", rows):
                raise self.problem("expected each class once with a whole number of rows, such as (yes 12, no 3)")
            counts[name] = int(rows)
            self.took(",")
        return counts


@dataclass(frozen=True)
class _Rule:
    conditions: tuple[AttributeTest, ...]
    score: str
    counts: dict[str, int] | None
    line: int


def _lines(text: str, comments: list[tuple[int, str]]) -> Iterator[_RuleLine]:
    """Yield the lines that are not blank, and append comments with their line numbers to `comments`."""
    for number, written in enumerate(text.splitlines(), 1):
        line = _RuleLine.of(number, written)
        if line.comment:
            comments.append((number, line.comment.lstrip("#")))
        if line.tokens:
            yield line


def _rules(text: str) -> tuple[list[_Rule], tuple[Content, ...]]:
    """Return the rules in a text, and the content of its comments."""
    rules, comments = list[_Rule](), list[tuple[int, str]]()
    for line in _lines(text, comments):
        if len(rules) > MOST_PARTS:
            raise line.problem(f"at most {MOST_PARTS:,} rules are supported")
        if rules and not rules[-1].conditions:
            raise line.problem("no line may follow the line with `else` alone, which applies to all rows")
        is_else, conditions = line.took("else"), list[AttributeTest]()
        if line.took("if"):
            conditions += line.condition()
            while line.took("and"):
                conditions += line.condition()
            if not line.took("then"):
                raise line.problem(_FORM)
        elif not is_else:
            raise line.problem(_FORM if rules else f"{_FORM}. {_NO_MODEL}")
        rules.append(_Rule(tuple(conditions), *line.prediction(), line.number))
    if not rules or rules[-1].conditions:
        raise ModelFormatError("the last line must be `else` with the prediction for all other rows.")
    return rules, comments_content(comments)


def rules_of_text(text: str, schema: Schema | None) -> Model:
    parsed, comments = _rules(text)
    tests = [test for rule in parsed for test in rule.conditions]
    if schema is None:
        scores = [name for rule in parsed for name in (rule.score, *(rule.counts or ()))]
        is_number = all(re.fullmatch(NUMBER, x.score) and x.counts is None and "." in x.score for x in parsed)
        schema = derived(tests, target_of("prediction", scores, is_number=is_number))
    refined = TestedSchema.of(schema, tests)
    rules = list[Rule]()
    for rule in parsed:
        literals = dict.fromkeys(literal for test in rule.conditions for literal in literals_of(refined, test))
        rules.append(Rule.of(tuple(literals), refined.leaf(rule.score, rule.counts, rule.line)))
    return RuleList(refined.schema, tuple(rules), no_guarantee("rules as text")).with_contents(comments)


def literals_of(refined: TestedSchema, test: AttributeTest) -> tuple[Literal, ...]:
    yes, _ = refined.answers(test)
    attribute = refined.schema[test.attribute]
    if yes.all() or not yes.any():
        problem = f"a test of {shown(test.attribute)} has the same result for all values that the schema allows"
        raise test.problem(f"{problem}; delete it, or extend the domain in the schema.")
    literals = conjunction(test.attribute, attribute, yes, np.logical_not(yes))
    if literals is None:
        problem = f"the literals of hedgerow cannot express this test of {shown(test.attribute)}"
        raise test.problem(f"{problem}; declare `missing: error` and `outside: error` for it in a schema.")
    return literals
