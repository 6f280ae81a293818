"""The page of a sheet: one HTML file that loads nothing and runs nothing, to be read, printed and signed."""

from __future__ import annotations

import re
from pathlib import Path

from hedgerow.report.contents import BUCKETS, Bucket, Cell, Fact, Finding, Grid, Section, Sheet
from hedgerow.text.markup import Html, element, joined, text

_STYLE = Path(__file__).with_name("style.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
"""What a browser may load for the page: its own style, and an empty icon."""
MARK = "PRIVATE: for the board only. Exact functions of the rows, not for release."
"""The mark of every section of the board's sheet."""
_LONGEST_WORD = 24
_NUMBER = re.compile(r"[0-9][0-9.,]*(e[+-]?[0-9]+)?( %)?")
_KINDS = {"public": "Public sheet", "board": "Sheet for the board"}
_WHENCE = {
    "public": (
        "Made of the released model, the record of releases and the form alone; no row was read for it. It is as "
        "public as these are."
    ),
    "board": (
        "Made with exact functions of the rows. It stays with the board and the curator: nothing of it may be "
        "published, quoted or put beside the model."
    ),
}
_BUCKETS: dict[Bucket, tuple[str, str]] = {
    "reject": ("Against release", "Do not release it as it is."),
    "look": ("Look closer", "Needs a person's judgement."),
    "supports": ("Supports release", "Speaks for a release."),
}
_VERDICTS: dict[Bucket, str] = {
    "reject": "Something speaks against a release as it is.",
    "look": "Nothing speaks against a release by itself; a person has to look closer.",
    "supports": "All findings support a release.",
}


def page(sheet: Sheet) -> str:
    """Return a sheet as a page."""
    head = element(
        "head",
        Html('\n<meta charset="utf-8">\n'),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=POLICY),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", f"{_KINDS[sheet.kind]}: {sheet.title}"),
        element("style", Html(_STYLE.read_text(encoding="utf-8"))),
    )
    parts = [
        element("a", "Skip to the findings", href="#findings", class_="skip"),
        _top(sheet),
        element("main", joined(_findings(sheet), _contents(sheet), *(_section(sheet, one) for one in sheet.sections))),
        _foot(sheet),
    ]
    body = element("body", joined(*parts), class_=sheet.kind)
    return f'<!doctype html>\n<html lang="en">\n{head}\n{body}\n</html>\n'


def _top(sheet: Sheet) -> Html:
    kind = element("p", _KINDS[sheet.kind], class_="kind")
    when = element("p", f"{sheet.date.isoformat()} · {sheet.software}", class_="soft")
    whence = element("p", _WHENCE[sheet.kind], class_="whence")
    return element("header", kind, element("h1", f"Disclosure report: {sheet.title}"), when, _mark(sheet), whence)


def _foot(sheet: Sheet) -> Html:
    note = "This page loads nothing and runs no script: it is whole as it is, on a screen and on paper."
    return element("footer", _mark(sheet), element("p", note))


def _mark(sheet: Sheet) -> Html:
    return element("p", MARK, class_="mark") if sheet.is_private else Html("")


def _findings(sheet: Sheet) -> Html:
    groups = [_bucket(sheet, bucket) for bucket in BUCKETS]
    verdict = element("p", f"{_VERDICTS[sheet.worst]}", class_=f"verdict {sheet.worst}")
    lead = element("p", "A finding is a reason. Its rule and where the rule comes from are beside it.", class_="soft")
    heading = element("h2", "Findings", id="findings", tabindex="-1")
    return element("section", _mark(sheet), heading, verdict, lead, *groups, class_="findings")


def _bucket(sheet: Sheet, bucket: Bucket) -> Html:
    found, (title, meaning) = sheet.by_bucket(bucket), _BUCKETS[bucket]
    heading = element("h3", f"{title}: {len(found)}", element("small", f" {meaning}"))
    items = [_finding(one) for one in found]
    listed = element("ul", *items) if items else element("p", "None.", class_="soft")
    return element("div", heading, listed, class_=f"bucket {bucket}" if found else "bucket")


def _finding(found: Finding) -> Html:
    rule = element("small", f"Rule: {found.threshold}. Source: {found.source}.")
    where = element("a", "See the numbers", href=f"#{found.section}")
    return element("li", found.sentence, " ", where, element("br"), rule)


def _contents(sheet: Sheet) -> Html:
    items = [element("li", element("a", one.question, href=f"#{one.key}")) for one in sheet.sections]
    return element("nav", element("h2", "Questions"), element("ol", *items), aria_label="Questions")


def _section(sheet: Sheet, section: Section) -> Html:
    if section.key == "decision":
        return _decision(sheet, section)
    parts = [
        _mark(sheet),
        element("h2", section.question, id=section.key),
        element("p", section.answer, class_="answer"),
    ]
    if section.facts:
        parts.append(element("dl", *(_fact(fact) for fact in section.facts)))
    parts += [_table(grid) for grid in section.grids]
    parts += [element("p", note, class_="soft") for note in section.notes]
    if section.measure:
        parts.append(element("p", element("b", "To complete this: "), section.measure, class_="measure"))
    if section.words:
        paragraphs = [element("p", one) for one in section.words]
        parts.append(element("details", element("summary", "What the words mean"), *paragraphs))
    return element("section", *parts)


def _fact(fact: Fact) -> Html:
    return element("div", element("dt", fact.name), element("dd", fact.text))


def _decision(sheet: Sheet, section: Section) -> Html:
    lines = [element("div", element("dt", fact.name), element("dd", "")) for fact in section.facts]
    heading = element("h2", section.question, id=section.key)
    answer = element("p", section.answer, class_="answer")
    return element("section", _mark(sheet), heading, answer, element("dl", *lines, class_="sign"), class_="decision")


def _table(grid: Grid) -> Html:
    places = range(len(grid.columns))
    numeric = [
        place > 0 and all(_is_number(row[place]) for row in grid.rows) for place in places
    ]  # the first is a name
    names = [
        element("th", name, scope="col", **_class(name, right))
        for name, right in zip(grid.columns, numeric, strict=True)
    ]
    rows = [_row(grid, row, numeric) for row in grid.rows]
    return element(
        "table",
        element("caption", grid.title),
        element("thead", element("tr", *names)),
        element("tbody", joined(*rows)),
    )


def _row(grid: Grid, row: tuple[Cell, ...], numeric: list[bool]) -> Html:
    first = element("th", _shown(row[0]), scope="row", data_label=grid.columns[0], **_class(row[0], False))
    others = [
        element("td", _shown(cell), data_label=name, **_class(cell, right))
        for cell, name, right in list(zip(row, grid.columns, numeric, strict=True))[1:]
    ]
    return element("tr", first, *others)


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, (int, float)) or (isinstance(cell, str) and _NUMBER.fullmatch(cell) is not None)


def _class(cell: Cell, right: bool) -> dict[str, str]:
    """Return the class of a cell: a number is on the right, and a word that is too long for a column may be broken."""
    is_long = isinstance(cell, str) and any(len(word) > _LONGEST_WORD for word in cell.split())
    return {"class_": "number"} if right else {"class_": "long"} if is_long else {}


def _shown(cell: Cell) -> Html:
    if cell is None or cell == "":
        return Html("–")
    if isinstance(cell, (bool, str)):
        return text(str(cell))
    return text(f"{cell:,}" if isinstance(cell, int) else f"{cell:.3f}")
