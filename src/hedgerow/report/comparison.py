"""Reports on several candidates side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import hedgerow.report.editions as editions
from hedgerow.errors import ArgumentError, ArgumentTypeError
from hedgerow.report.checks import Check
from hedgerow.report.contents import Cell, Column, Grid, Section, Sheet, SheetLine, section
from hedgerow.report.report import Report, Sheets
from hedgerow.report.subject import Subject
from hedgerow.text.language import Language, _, in_language, number

_COMPARED = ("guarantee", "length", "accuracy", "evaluation", "leaves", "membership", "attacks", "reconstruction")
"""The keys of the sections that are compared; only comparisons have the length."""
_MOST, _LONGEST_NAME = 6, 40  # the maximum number of models on a page, and of characters in a model's name


@dataclass(frozen=True, repr=False, eq=False)
class Comparison(Sheets):
    """The reports on several candidates side by side: a public sheet, and a board's sheet, which is **private**.

    The public sheet is made only from the public sheets of the reports, and the board's sheet only from their board's
    sheets. The board's sheet exists if all reports have a board's sheet. Each column is a model, and each line is a
    fact. A cell is blank if the report on the model does not state the fact.

    Examples
    --------
    >>> import hedgerow as hr
    >>> from hedgerow.report import Comparison
    >>> data = hr.datasets.load("breast_cancer")
    >>> tree = hr.PrivateTreeClassifier(epsilon=1, max_depth=2, schema=data.schema).fit(data.frame, data.labels)
    >>> card = hr.PrivateScorecardClassifier(epsilon=1, schema=data.schema).fit(data.frame, data.labels)
    >>> comparison = Comparison.of({"tree": hr.Report.of(tree), "scorecard": hr.Report.of(card)})
    >>> [column.name for column in comparison.public.section("guarantee").grids[0].columns]
    ['', 'tree', 'scorecard']
    """

    @classmethod
    def of(cls, reports: Mapping[str, Report]) -> "Comparison":
        """Compare the reports on two to six models that predict the same column; the keys name the models.

        Raises
        ------
        TypeError
            If `reports` is not a mapping of names to reports.
        ValueError
            If there are fewer than two or more than six models, a name is empty or longer than 40 characters, the
            models predict different columns, or the reports are in different languages.
        """
        if not isinstance(reports, Mapping) or not all(isinstance(report, Report) for report in reports.values()):
            raise ArgumentTypeError(f"reports must map names to reports, got {type(reports).__name__}.")
        if not 2 <= len(reports) <= _MOST:
            raise ArgumentError(f"A comparison has 2 to {_MOST} models, got {len(reports)}.")
        if not all(isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME for name in reports):
            raise ArgumentError(f"The name of each model must have 1 to {_LONGEST_NAME} characters.")
        schemas = (report.subject.schema for report in reports.values())
        if len({None if schema is None else schema.label for schema in schemas}) > 1:
            raise ArgumentError("The models must predict the same column with the same classes.")
        languages: set[Language] = {report.public.language for report in reports.values()}
        if len(languages) > 1:
            raise ArgumentError(f"The reports must be in one language, got {', '.join(sorted(languages))}.")
        with in_language(languages.pop()):
            return cls._of(reports)

    @classmethod
    def _of(cls, reports: Mapping[str, Report]) -> "Comparison":
        boards = {name: report.board for name, report in reports.items() if report.board is not None}
        lengths = {name: _length(report.subject) for name, report in reports.items()}
        public = {name: lines if reports[name].subject.is_private else () for name, lines in lengths.items()}
        board = None
        if len(boards) == len(reports):
            pairs = editions.pairs_of({name: report.subject for name, report in reports.items()})
            board = editions.with_editions(_sheet(editions.of_editions(boards, pairs), lengths), pairs)
        return cls(_sheet({name: report.public for name, report in reports.items()}, public), board)

    def __repr__(self) -> str:
        return f"<Comparison of {self.public.title}; {'public sheet only' if self.board is None else 'two sheets'}>"


def _compared(names: Iterable[str]) -> tuple[Column, ...]:
    """Return the columns of a comparison: the names of facts, and each model."""
    return (Column("line", ""), *(Column(f"model_{i}", name) for i, name in enumerate(names, 1)))


def _length(subject: Subject) -> tuple[SheetLine, ...]:
    sizes: dict[tuple[str, str], int | None] = {}
    if subject.released is not None:
        sizes["attributes", _("attributes that the model uses")] = len(subject.released.used_attributes)
    if subject.paths is not None:
        sizes["leaves", _("leaves")] = len(subject.paths)
        sizes["longest_path", _("conditions of the longest path")] = max(len(path) for path in subject.paths.paths)
    elif subject.released is not None:
        sizes["largest_points", _("largest number of points")] = subject.released.sizes.get("points")
    lines = (SheetLine(*names, "" if size is None else number(size), size) for names, size in sizes.items())
    return (SheetLine("kind", _("kind of model"), subject.kind), *lines)


def _sheet(sheets: Mapping[str, Sheet], lengths: Mapping[str, tuple[SheetLine, ...]]) -> Sheet:
    names, first = tuple(sheets), next(iter(sheets.values()))
    every = [_length_section(lengths) if key == "length" else _side_by_side(key, sheets) for key in _COMPARED]
    sections = tuple(section for section in every if section is not None)
    models = dict[Check, str]()  # the models of each check, including checks of the record and the form
    for check, name in ((check, name) for name, sheet in sheets.items() for check in sheet.checks):
        models[check] = f"{models[check]}, {name}" if check in models else name
    checks = tuple(replace(check, model=name, sentence=f"{name}: {check.sentence}") for check, name in models.items())
    of_all = all if first.kind == "public" else any  # the board's sheet decides as soon as one model has no guarantee
    decides = of_all(sheet.decides for sheet in sheets.values())
    title = _("{models} compared", models=", ".join(names))
    return replace(first, title=title, checks=checks, sections=sections, decides=decides)


def _side_by_side(key: str, sheets: Mapping[str, Sheet]) -> Section | None:
    sections = {name: section for name, sheet in sheets.items() for section in sheet.sections if section.key == key}
    if not sections:
        return None
    answers = (Cell(sections[name].answer if name in sections else "") for name in sheets)
    facts = {name: sections[name].facts if name in sections else () for name in sheets}
    rows = ((Cell(_("in short"), "answer"), *answers), *_lines(facts))
    grid = Grid("side_by_side", _("Side by side"), _compared(sheets), rows, shown=len(rows))
    return section(key, (), (grid,), template="compared", asked=next(iter(sections.values())).question)


def _lines(facts: Mapping[str, Sequence[SheetLine]]) -> Iterator[tuple[Cell, ...]]:
    """Yield a line of a comparison for each fact: its name, and its text for each model."""
    by_key = [{fact.key: fact for fact in of_model} for of_model in facts.values()]
    for key, name in {fact.key: fact.name for of_model in facts.values() for fact in of_model}.items():
        same = [of_model.get(key) for of_model in by_key]
        cells = (Cell("") if fact is None else Cell(fact.text, fact.value, fact.interval) for fact in same)
        yield (Cell(name, key), *cells)


def _length_section(lengths: Mapping[str, tuple[SheetLine, ...]]) -> Section:
    rows = tuple(_lines(lengths))
    grids = (Grid("side_by_side", _("Side by side"), _compared(lengths), rows),) if rows else ()
    return section("length", (), grids, template="compared", asked=_("How large is each model?"))
