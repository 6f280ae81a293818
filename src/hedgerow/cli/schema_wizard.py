"""`hedgerow schema wizard`: a schema by questions, one column at a time."""

import csv
import hashlib
import json
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from hedgerow.boundary.durable import write_whole
from hedgerow.cli.options import FILE, AsJson, Force, SchemaOutput, TargetOption, TextOptions, option
from hedgerow.cli.output import check_output, say
from hedgerow.cli.rows import ONLY_TEXT
from hedgerow.errors import ArgumentError, DomainError, SchemaError
from hedgerow.schema import Draft, DraftColumn, Schema, Unit, import_schema
from hedgerow.schema.contributions import names_key, names_person, repeats
from hedgerow.schema.files import check_ending, mapping_text, read_mapping
from hedgerow.schema.from_public import public_missing_words, typed_table
from hedgerow.schema.grid import SCHEMA_VERSION
from hedgerow.schema.imports.draft import suggested, with_suggestions
from hedgerow.schema.serialize import FILL_IN, KINDS, attribute_from_dict, label_from_dict
from hedgerow.tables.columns import Column
from hedgerow.tables.csv_files import is_generated
from hedgerow.tables.statistical_files import is_statistical
from hedgerow.tables.table_files import PIPE, TextFormat, columns_of, is_text, read_table
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

Proposal = Mapping[str, Any]
_UNIT: Proposal = {"kind": "unit"}
_BACK = ("<", "back")
_QUESTIONS = 2  # the version of the questions: answers to others are not taken for answers to these
_HINTS = {
    "values": "its values, with commas between them",
    "low": "its least possible value",
    "high": "its greatest possible value",
    "cuts": "cut points: auto, a number of them, log and a number (of dates: year, 10 years, month, day), or a list",
    "format": "how its dates are written, such as %d.%m.%Y; empty: as 1980-12-31",
    "classes": "its classes, with commas between them",
}
_WORDS = ("true_values", "false_values")
_OUTSIDE = {
    "error": "error refuses the table",
    "clip": "clip takes the nearest bound",
    "bin": "bin keeps a bin for such values",
}
_IN_ORDER = "its values from the first to the last, with commas between them"


def wizard(
    data: Annotated[str, typer.Argument(help="Table whose columns are asked about: a file or database.")],
    *,
    target: TargetOption = None,
    public_sample: Annotated[Path | None, option(f"PUBLIC rows, read for proposals: {FILE}.")] = None,
    text: TextOptions,
    output: SchemaOutput = Path("schema.yaml"),
    force: Force = False,
) -> None:
    """Make a schema by questions, one column at a time. No row is read.

    Proposals come from the names of the columns and, of Parquet files and databases, from their types and catalogue; or
    from public rows, where you have some. An empty answer takes the proposal, `<` goes back, and Ctrl-D keeps
    the answers: the same command goes on from there.

    [bold]Example[/bold]: hedgerow schema wizard patients.csv --target ill -o patients.yaml
    """
    check_ending(output)
    check_output(output, data, public_sample, force=force)
    make, files = text.text_format, [data, *([] if public_sample is None else [str(public_sample)])]
    if PIPE in files:
        raise ArgumentError("expected the name of a file, got -: answers are read from standard input.")
    if not (make.is_usual or any(map(is_text, files))):
        raise ArgumentError(ONLY_TEXT)
    proposals = _proposals(data, make) | ({} if public_sample is None else _of_sample(public_sample, make))
    if target is not None and target not in proposals:
        raise DomainError.absent(target, proposals)
    say(f"{number_of(len(proposals), 'column')}. Answer from what they mean, never by looking at the rows.", err=True)
    say(f"Enter takes the proposal in brackets; {_BACK[0]} goes back; Ctrl-D stops and keeps your answers.", err=True)
    draft = _Draft.of(output, [_QUESTIONS, target, proposals])
    if draft.answers:
        say(f"going on after {number_of(len(draft.answers), 'answer')} in {draft.path}", err=True)
    with draft.kept():
        schema = Schema.from_dict(draft.repeated(lambda dialog: _asked_schema(dialog, target, proposals)))
    write_whole(output, mapping_text(output, schema.to_dict()))
    draft.path.unlink(missing_ok=True)
    say(schema)
    say(f"written to {output}", err=True)


def _proposals(data: str, make: TextFormat) -> dict[str, Proposal]:
    """Return a proposal for each column, from names, types and catalogues; an empty one for a column to leave out."""
    if "://" in data or data.lower().endswith(".parquet") or is_statistical(data):
        draft = draft_of(data, None)
        left_out: dict[str, Proposal] = {name: {} for name, _ in draft.left_out}
        found = {column.name: _known(with_suggestions(column)) for column in draft.columns} | left_out
    else:
        found = {name: _known(suggested(name)) for name in columns_of(data, make) if not is_generated(name)}
    return {name: _UNIT if names_person(name) else {} if names_key(name) else one for name, one in found.items()}


def _of_sample(path: Path, make: TextFormat) -> dict[str, Proposal]:
    rows = read_table(str(path), make)
    rows = rows.drop_columns([name for name in rows.column_names if is_generated(name)])
    words = public_missing_words(rows, make)
    table = typed_table(rows, words, make)
    found: dict[str, Proposal] = {}
    for name in table.column_names:
        column = Column.from_arrow(table[name], name)
        again = repeats(column)
        if names_person(name) or again:
            found[name] = _UNIT
        elif names_key(name) or (again is None and column.is_text):
            found[name] = {}
    schema = Schema.from_public(table.drop_columns(list(found)))
    declared = {name: {"missing_values": list(words[name])} for name in schema.names if name in words}
    return found | {name: attribute.to_dict() | declared.get(name, {}) for name, attribute in schema.attributes}


def _known(column: DraftColumn | None) -> Proposal:
    return {} if column is None else {key: value for key, value in column.to_dict().items() if value != FILL_IN}


class _GoneBack(Exception):  # noqa: N818 -- no error
    """The last answer is to be given again."""


class _Dialog:
    """Questions, those answered before first: their answers are taken without being asked for."""

    def __init__(self, answers: list[str]) -> None:
        self.answers, self._place = answers, 0
        self.heading = ""  # names a column before its next question that is asked

    def answer_to(self, question: str, default: Any, read: Callable[[str], Any], check: Callable[[Any], object]) -> Any:
        """Return an answer that parses and passes a check; the proposal if it is empty and there is one."""
        shown = _shown(default)
        line = f"{question} [{printable(shown)}]" if shown else question
        while True:
            is_old = self._place < len(self.answers)
            text = self.answers[self._place] if is_old else self._line(line)
            try:
                value = default if not text and default is not None else read(text)
                check(value)
            except (ArgumentError, SchemaError) as error:
                del self.answers[self._place :]
                say(f"  {error} Please answer again.", err=True)
            else:
                self.answers += [] if is_old else [text]
                self._place += 1
                return value

    def choose(self, question: str, choices: Sequence[str], default: str) -> str:
        """Return one of several words, of which the first letters are enough."""

        def parsed(text: str) -> str:
            found = [choice for choice in choices if choice.startswith(text.lower())]
            if not text or len(found) != 1:
                raise ArgumentError(f"expected one of {', '.join(choices)}.")
            return found[0]

        return self.answer_to(f"{question}: {', '.join(choices)}", default, parsed, lambda _: None)

    def _line(self, question: str) -> str:
        """Return a line that is typed; Typer's own prompt would print to stdout."""
        if self.heading:
            say(f"\n{self.heading}", err=True)
            self.heading = ""
        say(f"  {question}: ", err=True, newline=False)
        line = sys.stdin.readline()
        if not line:
            raise typer.Abort
        if line.strip().lower() not in _BACK:
            return line.strip()
        self.answers[-1:] = []
        raise _GoneBack


@dataclass(frozen=True)
class _Draft:
    """The answers given so far, in a file beside the schema, which is there only where the questions were left."""

    path: Path
    questions: str  # a digest of the columns and what is proposed for them
    answers: list[str]

    @classmethod
    def of(cls, output: Path, questions: object) -> Self:
        """Return the draft that was left beside a schema, or an empty one."""
        path, digest = Path(f"{output}.draft.json"), hashlib.sha256(json.dumps(questions, default=str).encode())
        if not path.exists():
            return cls(path, digest.hexdigest(), [])
        left = read_mapping(path)
        answers = left.get("answers") if isinstance(left, dict) else None
        if not isinstance(answers, list) or left.get("questions") != digest.hexdigest():
            raise ArgumentError(f"{path} has answers to other questions; delete it, or give -o another name.")
        return cls(path, digest.hexdigest(), [str(answer) for answer in answers])

    def repeated(self, asked: Callable[[_Dialog], Any]) -> Any:
        """Ask, from the beginning after each step back: what was answered is not asked again."""
        while True:
            with suppress(_GoneBack):
                return asked(_Dialog(self.answers))

    @contextmanager
    def kept(self) -> Generator[None]:
        """Keep the answers if the block does not end well: at the end of input, Ctrl-C, a schema that is refused."""
        try:
            yield
        except BaseException:
            if self.answers:
                text = json.dumps({"questions": self.questions, "answers": self.answers}, ensure_ascii=False)
                write_whole(self.path, text)
                say(f"\nyour answers are kept in {self.path}: the same command goes on from there", err=True)
            raise


def _asked_schema(dialog: _Dialog, target: str | None, proposals: Mapping[str, Proposal]) -> dict[str, Any]:
    found: dict[str, Any] = {"version": SCHEMA_VERSION, "attributes": {}}
    if target is not None:
        found["label"] = _asked_label(dialog, target, proposals[target])
    names = [name for name in proposals if name != target]
    for i, name in enumerate(names, 1):
        dialog.heading = f"{printable(name)} ({i} of {len(names)}){_hint(name, proposals[name])}"
        data = _asked(dialog, name, proposals[name], "unit" in found)
        if data is not None and data["kind"] == "unit":
            found["unit"] = {"column": name, "max_rows": data["max_rows"]}
        elif data is not None:
            found["attributes"][name] = data
    return found


def _hint(name: str, proposal: Proposal) -> str:
    if proposal.get("kind") == "unit":
        return "\n  It looks as if it says whose row each row is. `unit` protects all rows of one person together."
    return "\n  It looks like an identifier, and is left out unless you choose a kind." if names_key(name) else ""


def _asked(dialog: _Dialog, name: str, proposal: Proposal, has_unit: bool) -> dict[str, Any] | None:
    """Ask about a column, and return its attribute, or ``unit`` with `max_rows`; None to leave it out."""
    kinds, usual = (*KINDS, *(() if has_unit else ("unit",)), "skip"), str(proposal.get("kind", "skip"))
    kind = dialog.choose("kind of column", kinds, usual if usual in kinds else "skip")
    if kind == "skip":
        return None
    if kind == "unit":
        most = "how many rows of each person are used at most; 1 has the least noise"
        return {"kind": kind, "max_rows": dialog.answer_to(most, 1, _number, lambda rows: Unit(name, rows))}
    data: dict[str, Any] = {"kind": kind}
    told = proposal if proposal.get("kind") == kind else {}
    for key in (field.name for field in fields(KINDS[kind]) if not field.kw_only and field.name not in _WORDS):
        hint = _IN_ORDER if (kind, key) == ("ordered", "values") else _HINTS[key]

        def check(value: Any, key: str = key) -> None:
            attribute_from_dict(name, _with_high(data | ({key: value} if value != "" or key != "format" else {})))

        data[key] = dialog.answer_to(hint, told.get(key, {"cuts": "auto", "format": ""}.get(key)), _PARSED[key], check)
    if data.get("format") == "":
        del data["format"]
    if kind == "boolean":
        data |= _asked_words(dialog, name, told)
    data |= _asked_missing(dialog, proposal, told) | _asked_outside(dialog, kind, told)

    def described(text: str) -> object:
        return attribute_from_dict(name, data | {"description": text} if text else data)

    description = dialog.answer_to("description, for people", proposal.get("description", ""), str, described)
    data |= {"description": description} if description else {}
    return data | {key: proposal[key] for key in ("unit", "source") if key in told}


def _asked_words(dialog: _Dialog, name: str, told: Proposal) -> dict[str, Any]:
    """Ask for the words of a boolean; none are needed for true and false, or 1 and 0."""
    words: dict[str, Any] = {}
    for key, other in (_WORDS, _WORDS[::-1]):
        hint = f"its words for {key.partition('_')[0]}, with commas between them"
        hint += "; empty: true or 1, and false or 0" if not words and key not in told else ""

        def check(value: Any, key: str = key, other: str = other) -> None:
            if value or words:  # both truths have words, or none
                attribute_from_dict(name, {"kind": "boolean", other: ["no other word"], **words, key: value})

        answer = dialog.answer_to(hint, told.get(key, None if words else []), _listed, check)
        if not answer:
            break
        words[key] = answer
    return words


def _asked_missing(dialog: _Dialog, proposal: Proposal, told: Proposal) -> dict[str, Any]:
    words = {key: told[key] for key in ("missing_values",) if told.get(key)}
    usual = "yes" if proposal.get("missing") == "bin" else "no"
    hint = f" (blank, or {_shown(words['missing_values'])})" if words else ""
    may_be = dialog.choose(f"may values be missing{hint}", ("yes", "no"), usual) == "yes"
    return {**words, "missing": "bin"} if may_be else {}


def _asked_outside(dialog: _Dialog, kind: str, told: Proposal) -> dict[str, Any]:
    """Ask what becomes of a value that was not declared, where there is a choice."""
    policies = KINDS[kind].outside_policies
    if len(policies) < 2:
        return {}
    hint = f"how to treat values that are not declared ({'; '.join(_OUTSIDE[policy] for policy in policies)})"
    policy = dialog.choose(hint, policies, str(told.get("outside", "error")))
    return {} if policy == "error" else {"outside": policy}


def _with_high(data: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a column or a label; a lower bound that has no upper one yet gets one."""
    if "low" not in data or "high" in data:
        return data
    return data | {"high": {"date": "9999-12-31", "integer": 2**53 - 1}.get(str(data.get("kind")), 1e150)}


def _asked_label(dialog: _Dialog, name: str, proposal: Proposal) -> dict[str, Any]:
    dialog.heading = f"{printable(name)} (the label)"
    keys = {field.name for field in fields(DraftColumn)}
    column: dict[str, Any] = {key: value for key, value in proposal.items() if key in keys}
    column["name"] = name
    told = {key: value for key, value in DraftColumn(**column).to_label().items() if value != FILL_IN}
    usual = "number" if "low" in told else "ordered" if told.get("ordered") else "classes"
    what = dialog.choose("what to predict", ("classes", "ordered", "number"), usual)
    data: dict[str, Any] = {"name": name}
    for key in ("low", "high") if what == "number" else ("classes",):

        def check(value: Any, key: str = key) -> None:
            label_from_dict(_with_high(data | {key: value}))

        data[key] = dialog.answer_to(_HINTS[key], told.get(key), _number if what == "number" else _listed, check)
    return data | ({"ordered": True} if what == "ordered" else {})


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(json.dumps(one, ensure_ascii=False) if "," in str(one) else str(one) for one in value)
    return "" if value is None else str(value)


def _number(text: str) -> Any:
    if re.fullmatch("[-+]?[0-9]{1,18}", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text  # which is refused as what it is


def _listed(text: str) -> list[Any]:
    words = [word.strip() for word in next(csv.reader([text], skipinitialspace=True), [])]
    return [int(word) if re.fullmatch("0|-?[1-9][0-9]{0,17}", word) else word for word in words if word]


def _cuts(text: str) -> Any:
    if (
        text in ("", "auto")
        or text.startswith("log")
        or text.endswith(("day", "days", "month", "months", "year", "years"))
    ):
        return text or "auto"
    return [_number(word.strip()) for word in text.split(",")] if "," in text else _number(text)


_PARSED: dict[str, Callable[[str], Any]] = {"values": _listed, "low": _number, "high": _number}
_PARSED |= {"cuts": _cuts, "format": str}


def import_draft(
    given: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="REDCap data dictionary (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI codebook "
            "(.xml); .parquet, .sav, .dta, .sas7bdat, whose types and value labels are read; or duckdb:///FILE::TABLE, "
            "postgresql://USER@HOST/DATABASE::TABLE, whose catalogue is.",
        ),
    ],
    target: TargetOption = None,
    output: SchemaOutput = Path("schema.yaml"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Make a schema of a data dictionary, or of a table's types, and tell what is missing in it. No row is read.

    [bold]Example[/bold]: hedgerow schema import dictionary.csv --target ill -o patients.yaml
    """
    check_ending(output)
    check_output(output, given, force=force)
    draft = draft_of(given, target)
    draft.save(output)
    if as_json:
        left_out = [{"column": name, "reason": reason} for name, reason in draft.left_out]
        gaps = [{"column": name, "key": key} for name, key in draft.gaps]
        say(json.dumps({"columns": len(draft.columns), "gaps": gaps, "left_out": left_out}, ensure_ascii=False))
    else:
        size = f"{number_of(len(draft.columns), 'column')}, {number_of(len(draft.gaps), 'gap')}"
        say("\n".join([*draft.notes, size]))
    todo = "fill in what is missing, then run" if draft.gaps else "read it, then run"
    say(f"written to {output}: {todo}: hedgerow schema show {output}", err=True)


def draft_of(given: str, target: str | None) -> Draft:
    if "://" not in given:
        return import_schema(given, label=target)
    from hedgerow.engines.catalogue import catalogue_draft  # Ibis takes long to import
    from hedgerow.engines.sources import open_table

    with open_table(given) as table:
        draft = catalogue_draft(table)
    return draft if target is None else draft.labelled(target)
