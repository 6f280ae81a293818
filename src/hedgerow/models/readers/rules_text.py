"""Rules as text: ``if age <= 40 and sex = f then yes (yes 12, no 3)``, one a line, the last ``else no``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hedgerow.errors import ModelFormatError
from hedgerow.models.extra_contents import Content, comments_content
from hedgerow.models.model import Model
from hedgerow.models.readers.questions import (
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

_LONGEST_LINE = 20_000  # characters
_TOKEN = re.compile(r'\s*(?:"([^"]*)"|(<=|>=|!=|<|>|=|\(|\)|,)|([^\s"<>=!(),#]+)|(#.*))')
_WORDS = ("if", "and", "then", "else", "is", "not", "missing")
_FORM = "expected a line such as: if age <= 40 and sex = f then yes (yes 12, no 3)"


@dataclass
class _RuleLine:
    """The tokens of a line: texts, each with whether it is plain, so that it can be a word of the grammar."""

    number: int
    tokens: list[tuple[str, bool]]
    comment: str = ""
    place: int = 0

    @classmethod
    def of(cls, number: int, text: str) -> "_RuleLine":
        line = cls(number, [])
        if len(text) > _LONGEST_LINE:
            raise line.problem(f"expected at most {_LONGEST_LINE:,} characters a line, got more")
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise line.problem(_FORM)
            quoted, mark, word, comment = found.groups()
            line.comment += comment or ""
            if quoted is not None or mark or word:
                line.tokens.append((quoted if quoted is not None else mark or word, quoted is None))
            at = found.end()
        return line

    def problem(self, text: str) -> ModelFormatError:
        return ModelFormatError(f"line {self.number}: {text}.")

    def took(self, *words: str) -> str | None:
        """Return the next token and go on, if it is one of some words or marks of the grammar."""
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
        """Yield the questions of one condition: two for ``30 < age <= 45``."""
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
        other = self.took("<=", "<") if mark in ("<", "<=") and re.fullmatch(NUMBER, name) else None
        if other is None:
            yield AttributeTest(name, mark, (value,), self.number)
            return
        yield AttributeTest(value, {"<": ">", "<=": ">="}[mark], (name,), self.number)
        yield AttributeTest(value, other, (self.term(),), self.number)

    def rest(self) -> tuple[str, dict[str, int] | None]:
        found = self.term(), self.counts()
        if self.place < len(self.tokens):
            raise self.problem(_FORM)
        return found

    def counts(self) -> dict[str, int] | None:
        if not self.took("("):
            return None
        found: dict[str, int] = {}
        while not self.took(")"):
            name, rows = self.term(), self.term()
            if name in found or not re.fullmatch("[0-9]{1,18}", rows):
                raise self.problem("expected each class once with a whole number of rows, such as (yes 12, no 3)")
            found[name] = int(rows)
            self.took(",")
        return found


@dataclass(frozen=True)
class _Rule:
    conditions: tuple[AttributeTest, ...]
    score: str
    counts: dict[str, int] | None
    line: int


def _lines(text: str, comments: list[tuple[int, str]]) -> Iterator[_RuleLine]:
    """Yield the lines that are not blank, and append the comments with their lines to `comments`."""
    for number, written in enumerate(text.splitlines(), 1):
        line = _RuleLine.of(number, written)
        if line.comment:
            comments.append((number, line.comment.lstrip("#")))
        if line.tokens:
            yield line


def _rules(text: str) -> tuple[list[_Rule], tuple[Content, ...]]:
    """Return the rules of a text, and the content of its comments."""
    found, comments = list[_Rule](), list[tuple[int, str]]()
    for line in _lines(text, comments):
        if len(found) > MOST_PARTS:
            raise line.problem(f"expected at most {MOST_PARTS:,} rules, got more")
        if found and not found[-1].conditions:
            raise line.problem("expected `else` on the last line, got a line after it")
        is_else, conditions = line.took("else"), list[AttributeTest]()
        if line.took("if"):
            conditions += line.condition()
            while line.took("and"):
                conditions += line.condition()
            if not line.took("then"):
                raise line.problem(_FORM)
        elif not is_else:
            raise line.problem(_FORM)
        found.append(_Rule(tuple(conditions), *line.rest(), line.number))
    if not found or found[-1].conditions:
        raise ModelFormatError("expected a last line with `else` and what is predicted of all other rows, got none.")
    return found, comments_content(comments)


def rules_of_text(text: str, schema: Schema | None) -> Model:
    rules, comments = _rules(text)
    questions = [one for rule in rules for one in rule.conditions]
    if schema is None:
        scores = [name for rule in rules for name in (rule.score, *(rule.counts or ()))]
        is_number = all(re.fullmatch(NUMBER, one.score) and one.counts is None and "." in one.score for one in rules)
        schema = derived(questions, target_of("prediction", scores, is_number=is_number))
    asked = TestedSchema.of(schema, questions)
    made = list[Rule]()
    for rule in rules:
        literals = dict.fromkeys(x for one in rule.conditions for x in literals_of(asked, one))
        made.append(Rule.of(tuple(literals), asked.leaf(rule.score, rule.counts, rule.line)))
    return RuleList(asked.schema, tuple(made), no_guarantee("rules as text")).with_contents(comments)


def literals_of(asked: TestedSchema, one: AttributeTest) -> tuple[Literal, ...]:
    yes, _ = asked.told(one)
    attribute = asked.schema[one.attribute]
    if yes.all() or not yes.any():
        raise one.problem(f"expected a test of {shown(one.attribute)} that some values pass and others do not.")
    found = conjunction(one.attribute, attribute, yes, np.logical_not(yes))
    if found is None:
        problem = f"expected a test of {shown(one.attribute)} that hedgerow's conditions can say"
        raise one.problem(f"{problem}; declare `missing: error` and `outside: error` for it in a schema.")
    return found
