"""Comparisons of candidates: what the reports on several models say, side by side."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.report.contents import Cell, Grid, Section, Sheet, section
from hedgerow.report.report import Report, Sheets
from hedgerow.report.subject import Subject

_COMPARED = ("guarantee", "length", "accuracy", "evaluation", "leaves", "membership", "reconstruction")
"""The keys of the sections that are compared; the length is of comparisons alone."""
_MOST, _LONGEST_NAME = 6, 40  # models on a page, and characters of what one is called


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Sheets):
    """What the reports on several candidates say, side by side: a public sheet, and, **private**, one for the board.

    The public sheet is made of the public sheets of the reports alone, the board's of those for the board; there is one
    if all reports have one. Each column is a model, each line a fact that one report or more states. A fact that a
    report does not state is left blank.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import Comparison
    >>> data = hr.datasets.load("breast_cancer")
    >>> tree = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> card = hr.PrivateScorecardClassifier(epsilon=1, schema=data.schema).fit(data.frame, data.labels)
    >>> found = Comparison.of({"tree": hr.Report.of(tree), "scorecard": hr.Report.of(card)})
    >>> found.public.section("guarantee").grids[0].columns
    ('', 'tree', 'scorecard')
    """

    @classmethod
    def of(cls, reports: Mapping[str, Report]) -> "Comparison":
        """Compare the reports on two to six models that predict the same, by what each model is to be called.

        Raises
        ------
        TypeError
            If `reports` is no mapping of names to reports.
        ValueError
            If they are fewer or more, a name is empty or longer than 40 characters, or the models predict other things.
        """
        if not isinstance(reports, Mapping) or not all(isinstance(one, Report) for one in reports.values()):
            raise ArgumentTypeError(f"expected a mapping of names to reports, got {type(reports).__name__}.")
        if not 2 <= len(reports) <= _MOST:
            raise ArgumentError(f"expected from 2 to {_MOST} models to compare, got {len(reports)}.")
        if not all(isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME for name in reports):
            raise ArgumentError(f"expected a name of 1 to {_LONGEST_NAME} characters for each model, got another.")
        schemas = (one.subject.schema for one in reports.values())
        if len({None if schema is None else schema.label for schema in schemas}) > 1:
            raise ArgumentError("expected models that predict the same column, got some with other labels or classes.")
        boards = {name: one.board for name, one in reports.items() if one.board is not None}
        lengths = {name: _length(one.subject) for name, one in reports.items()}
        public = {name: one if reports[name].subject.is_private else {} for name, one in lengths.items()}
        board = _sheet(boards, lengths) if len(boards) == len(reports) else None
        return cls(_sheet({name: one.public for name, one in reports.items()}, public), board)

    def __repr__(self) -> str:
        return f"<Comparison of {self.public.title}; {'public sheet only' if self.board is None else 'two sheets'}>"


def _length(subject: Subject) -> dict[str, Cell]:
    found: dict[str, Cell] = {"kind of model": subject.kind}
    if subject.released is not None:
        found["attributes that it uses"] = len(subject.released.used_attributes)
    if subject.paths is not None:
        found["leaves"] = len(subject.paths)
        found["conditions of the longest path"] = max(len(path) for path in subject.paths.paths)
    elif subject.released is not None:
        found["largest points"] = subject.released.sizes.get("points")
    return found


def _sheet(sheets: Mapping[str, Sheet], lengths: Mapping[str, Mapping[str, Cell]]) -> Sheet:
    names, first = tuple(sheets), next(iter(sheets.values()))
    sections = [_length_section(lengths) if key == "length" else _side_by_side(key, sheets) for key in _COMPARED]
    kept = tuple(one for one in sections if one is not None)
    known = {one.key for one in kept}
    every = ((name, finding) for name, sheet in sheets.items() for finding in sheet.findings)
    findings = tuple(
        replace(one, key=f"{name}: {one.key}", sentence=f"{name}: {one.sentence}")
        for name, one in every
        if one.section in known
    )
    examined = all(sheet.examined for sheet in sheets.values())
    return replace(first, title=" beside ".join(names), findings=findings, sections=kept, examined=examined)


def _side_by_side(key: str, sheets: Mapping[str, Sheet]) -> Section | None:
    found = {name: one for name, sheet in sheets.items() for one in sheet.sections if one.key == key}
    if not found:
        return None
    facts = {name: {fact.name: fact.text for fact in one.facts} for name, one in found.items()}
    lines: dict[str, Callable[[str], Cell]] = {"in short": lambda name: found[name].answer if name in found else None}
    for one in facts.values():
        lines |= {line: lambda name, line=line: facts.get(name, {}).get(line) for line in one}
    rows = tuple((line, *(cell(name) for name in sheets)) for line, cell in lines.items())
    grid = Grid("Side by side", ("", *sheets), rows, shown=len(rows))
    return section(key, (), (grid,), template="compared", asked=next(iter(found.values())).question)


def _length_section(lengths: Mapping[str, Mapping[str, Cell]]) -> Section:
    lines = dict.fromkeys(line for one in lengths.values() for line in one)
    rows = tuple((line, *(one.get(line) for one in lengths.values())) for line in lines)
    grids = (Grid("Side by side", ("", *lengths), rows),) if rows else ()
    return section("length", (), grids, template="compared", asked="How much is there to read?")
