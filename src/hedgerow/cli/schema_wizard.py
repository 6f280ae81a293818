"""`hedgerow schema wizard` and `import`: create a schema by questions, or from a data dictionary."""

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
from hedgerow.cli.options import DATA, FILE, AsJson, Force, SchemaOutput, TargetOption, TextOptions, option
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
from hedgerow.text.messages import describe_argument, number_of
from hedgerow.text.values import printable

Proposal = Mapping[str, Any]
_UNIT: Proposal = {"kind": "unit"}
_BACK = ("<", "back")
_QUESTIONS = 2  # version of the questions; stored answers to another version are not used
_HINTS = {
    "values": "values, separated by commas",
    "low": "smallest possible value",
    "high": "largest possible value",
    "cuts": "cut points: auto, how many (5), log 5 for equal ratios, a list (30, 45); of dates 10 years, month or day",
    "format": "format of the dates, such as %d.%m.%Y; empty: 1980-12-31",
    "classes": "classes, separated by commas",
}
_WORDS = ("true_values", "false_values")
_OUTSIDE = {
    "error": "error rejects the table",
    "clip": "clip uses the nearest bound",
    "bin": "bin gives such values a bin of their own",
}
_IN_ORDER = "values in order, from first to last, separated by commas"


def wizard(
    data: Annotated[str, typer.Argument(metavar="DATA", help=f"Table; only its columns are read: {DATA}.")],
    *,
    target: TargetOption = None,
    public_sample: Annotated[Path | None, option(f"PUBLIC rows from which answers are proposed: {FILE}.")] = None,
    text: TextOptions,
    output: SchemaOutput = Path("schema.yaml"),
    force: Force = False,
) -> None:
    """Create a schema by answering questions, one column at a time. No row of DATA is read.

    Answers are proposed from column names, from the types in Parquet files and databases, and from public rows if you
    give some. Press Enter to accept a proposal, and type < to go back. Ctrl-D stops and stores your answers; run the
    same command again to continue.

    [bold]Example[/bold]: hedgerow schema wizard patients.csv --target ill -o patients.yaml
    """
    check_ending(output)
    check_output(output, data, public_sample, force=force)
    make, files = text.text_format, [data, *([] if public_sample is None else [str(public_sample)])]
    if PIPE in files:
        raise ArgumentError("expected the name of a file, got - (standard input), from which the answers are read.")
    if not (make.is_usual or any(map(is_text, files))):
        raise ArgumentError(ONLY_TEXT)
    proposals = _proposals(data, make) | ({} if public_sample is None else _of_sample(public_sample, make))
    if target is not None and target not in proposals:
        raise DomainError.absent(target, proposals)
    say(
        f"{number_of(len(proposals), 'column')}. Answer from domain knowledge, never by looking at the rows.",
        err=True,
    )
    say(
        f"Enter accepts the proposal in brackets, {_BACK[0]} goes back, Ctrl-D stores your answers and stops.", err=True
    )
    draft = _Draft.of(output, [_QUESTIONS, target, proposals])
    if draft.answers:
        say(f"continuing after {number_of(len(draft.answers), 'answer')} stored in {draft.path}", err=True)
    with draft.stored_on_error():
        schema = Schema.from_dict(draft.run(lambda dialog: _asked_schema(dialog, target, proposals)))
    write_whole(output, mapping_text(output, schema.to_dict()))
    draft.path.unlink(missing_ok=True)
    say(schema)
    say(f"written to {output}", err=True)


def _proposals(data: str, make: TextFormat) -> dict[str, Proposal]:
    """Return a proposal for each column, from names, types and catalogues; an empty proposal leaves a column out."""
    if "://" in data or data.lower().endswith(".parquet") or is_statistical(data):
        draft = draft_of(data, None)
        left_out: dict[str, Proposal] = {name: {} for name, _ in draft.left_out}
        proposals = {column.name: _known(with_suggestions(column)) for column in draft.columns} | left_out
    else:
        proposals = {name: _known(suggested(name)) for name in columns_of(data, make) if not is_generated(name)}
    return {
        name: _UNIT if names_person(name) else {} if names_key(name) else proposal
        for name, proposal in proposals.items()
    }


def _of_sample(path: Path, make: TextFormat) -> dict[str, Proposal]:
    rows = read_table(str(path), make)
    rows = rows.drop_columns([name for name in rows.column_names if is_generated(name)])
    words = public_missing_words(rows, make)
    table = typed_table(rows, words, make)
    proposals: dict[str, Proposal] = {}
    for name in table.column_names:
        column = Column.from_arrow(table[name], name)
        repetition = repeats(column)
        if names_person(name) or repetition:
            proposals[name] = _UNIT
        elif names_key(name) or (repetition is None and column.is_text):
            proposals[name] = {}
    schema = Schema.from_public(table.drop_columns(list(proposals)))
    declared = {name: {"missing_values": list(words[name])} for name in schema.names if name in words}
    return proposals | {name: attribute.to_dict() | declared.get(name, {}) for name, attribute in schema.attributes}


def _known(column: DraftColumn | None) -> Proposal:
    return {} if column is None else {key: value for key, value in column.to_dict().items() if value != FILL_IN}


class _GoBack(Exception):  # noqa: N818 -- not an error
    """Request to answer the previous question again."""


class _Dialog:
    """Dialog that replays stored answers before it asks new questions."""

    def __init__(self, answers: list[str]) -> None:
        self.answers, self._place = answers, 0
        self.heading = ""  # printed before the next question

    def answer_to(self, question: str, default: Any, read: Callable[[str], Any], check: Callable[[Any], object]) -> Any:
        """Ask until an answer parses and passes a check; an empty answer means the default, if there is one."""
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
        """Ask for one of several words; its first letters are enough."""

        def parsed(text: str) -> str:
            matches = [choice for choice in choices if choice.startswith(text.lower())]
            if not text or len(matches) != 1:
                raise ArgumentError(
                    f"expected {', '.join(choices)} or unique first letters, got {describe_argument(text)}."
                )
            return matches[0]

        return self.answer_to(f"{question}: {', '.join(choices)}", default, parsed, lambda _: None)

    def _line(self, question: str) -> str:
        """Read a line; Typer's own prompt would print to stdout."""
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
        raise _GoBack


@dataclass(frozen=True)
class _Draft:
    """Answers so far, stored in a file next to the schema if the dialog is interrupted."""

    path: Path
    questions: str  # digest of the columns and their proposals
    answers: list[str]

    @classmethod
    def of(cls, output: Path, questions: object) -> Self:
        """Return the draft stored next to a schema, or an empty draft."""
        path, digest = Path(f"{output}.draft.json"), hashlib.sha256(json.dumps(questions, default=str).encode())
        if not path.exists():
            return cls(path, digest.hexdigest(), [])
        stored = read_mapping(path)
        answers = stored.get("answers") if isinstance(stored, dict) else None
        if not isinstance(answers, list) or stored.get("questions") != digest.hexdigest():
            raise ArgumentError(f"{path} contains answers to different questions; delete it, or change -o.")
        return cls(path, digest.hexdigest(), [str(answer) for answer in answers])

    def run(self, dialog: Callable[[_Dialog], Any]) -> Any:
        """Run a dialog; after each step back, run it again and replay the answers so far."""
        while True:
            with suppress(_GoBack):
                return dialog(_Dialog(self.answers))

    @contextmanager
    def stored_on_error(self) -> Generator[None]:
        """Store the answers if the block fails: at the end of input, on Ctrl-C, or for an invalid schema."""
        try:
            yield
        except BaseException:
            if self.answers:
                text = json.dumps({"questions": self.questions, "answers": self.answers}, ensure_ascii=False)
                write_whole(self.path, text)
                say(f"\nyour answers are stored in {self.path}; run the same command again to continue", err=True)
            raise


def _asked_schema(dialog: _Dialog, target: str | None, proposals: Mapping[str, Proposal]) -> dict[str, Any]:
    schema: dict[str, Any] = {"version": SCHEMA_VERSION, "attributes": {}}
    if target is not None:
        schema["label"] = _asked_label(dialog, target, proposals[target])
    names = [name for name in proposals if name != target]
    for i, name in enumerate(names, 1):
        dialog.heading = f"{printable(name)} ({i} of {len(names)}){_hint(name, proposals[name])}"
        data = _asked(dialog, name, proposals[name], "unit" in schema)
        if data is not None and data["kind"] == "unit":
            schema["unit"] = {"column": name, "max_rows": data["max_rows"]}
        elif data is not None:
            schema["attributes"][name] = data
    return schema


def _hint(name: str, proposal: Proposal) -> str:
    if proposal.get("kind") == "unit":
        return "\n  This column seems to identify a person. `unit` protects all rows of a person together."
    return (
        "\n  This column seems to be an identifier. It is left out unless you choose a kind." if names_key(name) else ""
    )


def _asked(dialog: _Dialog, name: str, proposal: Proposal, has_unit: bool) -> dict[str, Any] | None:
    """Ask about a column; return its attribute, ``unit`` with `max_rows`, or None to leave it out."""
    kinds, usual = (*KINDS, *(() if has_unit else ("unit",)), "skip"), str(proposal.get("kind", "skip"))
    kind = dialog.choose("kind of column", kinds, usual if usual in kinds else "skip")
    if kind == "skip":
        return None
    if kind == "unit":
        hint = "maximum number of rows used per person; 1 has the least noise"
        return {"kind": kind, "max_rows": dialog.answer_to(hint, 1, _number, lambda rows: Unit(name, rows))}
    data: dict[str, Any] = {"kind": kind}
    known = proposal if proposal.get("kind") == kind else {}
    for key in (field.name for field in fields(KINDS[kind]) if not field.kw_only and field.name not in _WORDS):
        hint = _IN_ORDER if (kind, key) == ("ordered", "values") else _HINTS[key]

        def check(value: Any, key: str = key) -> None:
            attribute_from_dict(name, _with_high(data | ({key: value} if value != "" or key != "format" else {})))

        data[key] = dialog.answer_to(hint, known.get(key, {"cuts": "auto", "format": ""}.get(key)), _PARSED[key], check)
    if data.get("format") == "":
        del data["format"]
    if kind == "boolean":
        data |= _asked_words(dialog, name, known)
    data |= _asked_missing(dialog, proposal, known) | _asked_outside(dialog, kind, known)

    def described(text: str) -> object:
        return attribute_from_dict(name, data | {"description": text} if text else data)

    description = dialog.answer_to("description (optional)", proposal.get("description", ""), str, described)
    data |= {"description": description} if description else {}
    return data | {key: proposal[key] for key in ("unit", "source") if key in known}


def _asked_words(dialog: _Dialog, name: str, known: Proposal) -> dict[str, Any]:
    """Ask for the words of a boolean, unless they are true and false, or 1 and 0."""
    words: dict[str, Any] = {}
    for key, other in (_WORDS, _WORDS[::-1]):
        hint = f"words for {key.partition('_')[0]}, separated by commas"
        hint += "; empty: the values are true and false, or 1 and 0" if not words and key not in known else ""

        def check(value: Any, key: str = key, other: str = other) -> None:
            if value or words:  # words are needed for both truth values or for neither
                attribute_from_dict(name, {"kind": "boolean", other: ["no other word"], **words, key: value})

        answer = dialog.answer_to(hint, known.get(key, None if words else []), _listed, check)
        if not answer:
            break
        words[key] = answer
    return words


def _asked_missing(dialog: _Dialog, proposal: Proposal, known: Proposal) -> dict[str, Any]:
    words = {key: known[key] for key in ("missing_values",) if known.get(key)}
    usual = "yes" if proposal.get("missing") == "bin" else "no"
    hint = f" (blank, or {_shown(words['missing_values'])})" if words else ""
    may_be = dialog.choose(f"can values be missing{hint}", ("yes", "no"), usual) == "yes"
    return {**words, "missing": "bin"} if may_be else {}


def _asked_outside(dialog: _Dialog, kind: str, known: Proposal) -> dict[str, Any]:
    """Ask how to treat undeclared values, if the kind of column allows a choice."""
    policies = KINDS[kind].outside_policies
    if len(policies) < 2:
        return {}
    hint = f"how to treat undeclared values ({'; '.join(_OUTSIDE[policy] for policy in policies)})"
    policy = dialog.choose(hint, policies, str(known.get("outside", "error")))
    return {} if policy == "error" else {"outside": policy}


def _with_high(data: dict[str, Any]) -> dict[str, Any]:
    """Return the keys of a column or label, with a provisional upper bound if only the lower bound is known."""
    if "low" not in data or "high" in data:
        return data
    return data | {"high": {"date": "9999-12-31", "integer": 2**53 - 1}.get(str(data.get("kind")), 1e150)}


def _asked_label(dialog: _Dialog, name: str, proposal: Proposal) -> dict[str, Any]:
    dialog.heading = f"{printable(name)} (the label)"
    keys = {field.name for field in fields(DraftColumn)}
    column: dict[str, Any] = {key: value for key, value in proposal.items() if key in keys}
    column["name"] = name
    known = {key: value for key, value in DraftColumn(**column).to_label().items() if value != FILL_IN}
    usual = "number" if "low" in known else "ordered" if known.get("ordered") else "classes"
    what = dialog.choose("what to predict", ("classes", "ordered", "number"), usual)
    data: dict[str, Any] = {"name": name}
    for key in ("low", "high") if what == "number" else ("classes",):

        def check(value: Any, key: str = key) -> None:
            label_from_dict(_with_high(data | {key: value}))

        data[key] = dialog.answer_to(_HINTS[key], known.get(key), _number if what == "number" else _listed, check)
    return data | ({"ordered": True} if what == "ordered" else {})


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(json.dumps(item, ensure_ascii=False) if "," in str(item) else str(item) for item in value)
    return "" if value is None else str(value)


def _number(text: str) -> Any:
    if re.fullmatch("[-+]?[0-9]{1,18}", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        return text  # the check of the answer rejects it


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
            help="Data dictionary: REDCap (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI (.xml). "
            "Or a Parquet, SPSS, Stata or SAS file, duckdb:///FILE::TABLE or postgresql://USER@HOST/DATABASE::TABLE; "
            "only types and labels are read.",
        ),
    ],
    target: TargetOption = None,
    output: SchemaOutput = Path("schema.yaml"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Create a schema from a data dictionary or the types of a table, and list its gaps. No row is read.

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
        summary = f"{number_of(len(draft.columns), 'column')}, {number_of(len(draft.gaps), 'gap')}"
        say("\n".join([*draft.notes, summary]))
    todo = "fill in the gaps, then run" if draft.gaps else "check it, then run"
    say(f"written to {output}: {todo}: hedgerow schema show {output}", err=True)


def draft_of(given: str, target: str | None) -> Draft:
    if "://" not in given:
        return import_schema(given, label=target)
    from hedgerow.engines.catalogue import catalogue_draft  # Ibis takes long to import
    from hedgerow.engines.sources import open_table

    with open_table(given) as table:
        draft = catalogue_draft(table)
    return draft if target is None else draft.labelled(target)
