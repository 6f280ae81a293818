"""`hedgerow schema wizard`: a schema by questions, one column at a time."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer

from hedgerow.boundary.durable import write_whole
from hedgerow.cli.options import FILE, AsJson, Force, SchemaOutput, Target, TextOptions, option
from hedgerow.cli.output import check_output, say
from hedgerow.cli.rows import ONLY_TEXT
from hedgerow.errors import ArgumentError, DomainError, SchemaError
from hedgerow.schema import Draft, DraftColumn, Schema, import_schema
from hedgerow.schema.files import check_ending, mapping_text
from hedgerow.schema.from_public import typed_table
from hedgerow.schema.imports.draft import suggested, with_suggestions
from hedgerow.schema.serialize import FILL_IN, KINDS, attribute_from_dict, label_from_dict
from hedgerow.tables.table_files import PIPE, TextFormat, columns_of, is_text, read_table
from hedgerow.text.messages import number_of
from hedgerow.text.values import printable

Proposal = Mapping[str, Any]
_KINDS = (*KINDS, "skip")
_HINTS = {
    "values": "its values, with commas between them",
    "low": "its least possible value",
    "high": "its greatest possible value",
    "cuts": "cut points: auto, a number of them, log and a number (of dates: year, 10 years, month, day), or a list",
    "classes": "its classes, with commas between them",
}
_IN_ORDER = "its values from the first to the last, with commas between them"


def wizard(
    data: Annotated[str, typer.Argument(help="Table whose columns are asked about: a CSV file, Parquet, a database.")],
    *,
    target: Target = None,
    public_sample: Annotated[Path | None, option(f"PUBLIC rows, read for proposals: {FILE}.")] = None,
    text: TextOptions,
    output: SchemaOutput = Path("schema.yaml"),
    force: Force = False,
) -> None:
    """Make a schema by questions, one column at a time. No row is read.

    Proposals come from the names of the columns and, of Parquet files and databases, from their types and catalogue; or
    from public rows, where you have some. An empty answer takes the proposal.

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
    found: dict[str, Any] = {"version": 1}
    if target is not None:
        found["label"] = _asked_label(target, proposals[target])
    names = [name for name in proposals if name != target]
    asked = {name: _asked(name, proposals[name], f"{i} of {len(names)}") for i, name in enumerate(names, 1)}
    found["attributes"] = {name: data for name, data in asked.items() if data is not None}
    schema = Schema.from_dict(found)
    write_whole(output, mapping_text(output, schema.to_dict()))
    say(schema)
    say(f"written to {output}", err=True)


def _proposals(data: str, make: TextFormat) -> dict[str, Proposal]:
    """Return a proposal for each column, from names, types and catalogues; an empty one for a column to leave out."""
    if "://" in data or data.lower().endswith(".parquet"):
        draft = draft_of(data, None)
        left_out: dict[str, Proposal] = {name: {} for name, _ in draft.left_out}
        return {column.name: _known(with_suggestions(column)) for column in draft.columns} | left_out
    return {name: _known(suggested(name)) for name in columns_of(data, make)}


def _of_sample(path: Path, make: TextFormat) -> dict[str, Proposal]:
    """Return the attributes of public rows."""
    schema = Schema.from_public(typed_table(read_table(str(path), make), text_format=make))
    return {name: attribute.to_dict() for name, attribute in schema.attributes}


def _known(column: DraftColumn | None) -> Proposal:
    return {} if column is None else {key: value for key, value in column.to_dict().items() if value != FILL_IN}


def _asked(name: str, proposal: Proposal, place: str) -> dict[str, Any] | None:
    """Ask about a column until the answers make an attribute; None to leave it out."""
    say(f"\n{printable(name)} ({place})", err=True)
    while True:
        kind = _choice("kind of column", _KINDS, str(proposal.get("kind", "skip")))
        if kind == "skip":
            return None
        data: dict[str, Any] = {"kind": kind}
        told = proposal if proposal.get("kind") == kind else {}
        for key in (field.name for field in fields(KINDS[kind]) if not field.kw_only):
            hint = _IN_ORDER if (kind, key) == ("ordered", "values") else _HINTS[key]
            data[key] = _answer(hint, told.get(key, "auto" if key == "cuts" else None), _PARSED[key])
        data |= {key: told[key] for key in ("true_values", "false_values", "missing_values") if key in told}
        if _confirmed("may values be missing", default=proposal.get("missing") == "bin"):
            data["missing"] = "bin"
        else:
            data.pop("missing_values", None)
        description = _answer("description, for people", proposal.get("description", ""), str)
        data |= {"description": description} if description else {}
        data |= {key: proposal[key] for key in ("unit", "source", "outside") if key in told}
        try:
            attribute_from_dict(name, data)
        except SchemaError as error:
            say(f"  {error} Please answer again.", err=True)
        else:
            return data


def _asked_label(name: str, proposal: Proposal) -> dict[str, Any]:
    """Ask for the classes of the label, or the bounds of a number, until they are such."""
    say(f"\n{printable(name)} (the label)", err=True)
    told = _proposed_label(name, proposal)
    usual = "number" if "low" in told else "ordered" if told.get("ordered") else "classes"
    while True:
        what = _choice("what to predict", ("classes", "ordered", "number"), usual)
        data: dict[str, Any] = {"name": name}
        for key in ("low", "high") if what == "number" else ("classes",):
            data[key] = _answer(_HINTS[key], told.get(key), _number if what == "number" else _listed)
        data |= {"ordered": True} if what == "ordered" else {}
        try:
            label_from_dict(data)
        except SchemaError as error:
            say(f"  {error} Please answer again.", err=True)
        else:
            return data


def _proposed_label(name: str, proposal: Proposal) -> Proposal:
    """Return the label that the attribute of a column would be, without what is not known."""
    told: dict[str, Any] = {field.name: proposal[field.name] for field in fields(DraftColumn) if field.name in proposal}
    told["name"] = name
    return {key: value for key, value in DraftColumn(**told).to_label().items() if value != FILL_IN}


def _choice(question: str, choices: Sequence[str], default: str) -> str:
    while True:
        answer = _answer(f"{question}: {', '.join(choices)}", default, str)
        found = [choice for choice in choices if choice.startswith(answer.lower())]
        if answer and len(found) == 1:
            return found[0]
        say(f"  expected one of {', '.join(choices)}", err=True)


def _answer(question: str, default: Any, parsed: Callable[[str], Any]) -> Any:
    """Ask, and return the answer; the proposal if it is empty and there is one."""
    shown = _shown(default)
    text = _line(f"{question} [{printable(shown)}]" if shown else question)
    return default if not text and default is not None else parsed(text)


def _line(question: str) -> str:
    """Return a line that is typed; Typer's own prompt would print to stdout."""
    say(f"  {question}: ", err=True, newline=False)
    line = sys.stdin.readline()
    if not line:
        raise typer.Abort
    return line.strip()


def _confirmed(question: str, *, default: bool) -> bool:
    answer = _choice(question, ("yes", "no"), "yes" if default else "no")
    return answer == "yes"


def _shown(value: Any) -> str:
    return ", ".join(_quoted(one) for one in value) if isinstance(value, list) else "" if value is None else str(value)


def _quoted(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) and "," in value else str(value)


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


_PERIODS = ("day", "days", "month", "months", "year", "years")


def _cuts(text: str) -> Any:
    if text in ("", "auto") or text.startswith("log") or text.endswith(_PERIODS):
        return text or "auto"
    return [_number(word.strip()) for word in text.split(",")] if "," in text else _number(text)


_PARSED: Mapping[str, Callable[[str], Any]] = {"values": _listed, "low": _number, "high": _number, "cuts": _cuts}


def import_draft(
    given: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="REDCap data dictionary (.csv), Frictionless Table Schema, CSVW or JSON Schema (.json), DDI codebook "
            "(.xml), data.parquet, whose types are read; or duckdb:///FILE::TABLE, "
            "postgresql://USER@HOST/DATABASE::TABLE, whose catalogue is.",
        ),
    ],
    target: Target = None,
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
    """Return the draft of a file's description, or of a table in a database."""
    if "://" not in given:
        return import_schema(given, label=target)
    from hedgerow.engines.catalogue import catalogue_draft  # Ibis takes long to import
    from hedgerow.engines.sources import open_table

    with open_table(given) as table:
        draft = catalogue_draft(table)
    return draft if target is None else draft.labelled(target)
