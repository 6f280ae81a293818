"""Check the prose of docstrings, comments, messages and pages against the rules of `.ci/prose.toml`.

Print each hit as `path:line: [rule] words (advice)`, and exit with 1 if there is any hit. Without paths, check the
whole project, and print only the hits of rules that have more hits than the settings keep. With `--count`, print the
number of hits by file and by rule instead.
"""

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

HERE = Path(__file__).parent
SETTINGS = tomllib.loads((HERE / "prose.toml").read_text(encoding="utf-8"))
QUOTED = re.compile(r"``.*?``|`[^`]*`|\"[^\"\n]{1,80}\"", re.DOTALL)
EXAMPLE = re.compile(r"^[ \t]*>>> .*(?:\n[ \t]*\S.*)*", re.MULTILINE)
MARKUP = re.compile(r"<!--.*?-->|<[^<>]*>|\{[#%{].*?[#%}]\}", re.DOTALL)


@dataclass(frozen=True)
class Text:
    """A piece of prose, and the line on which it starts."""

    line: int
    words: str


@dataclass(frozen=True)
class Hit:
    """A place that breaks a rule."""

    path: Path
    line: int
    rule: str
    words: str
    advice: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: [{self.rule}] {self.words} ({self.advice})"


def blank(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text with each match replaced by `{}` and as many line breaks as it had."""
    return pattern.sub(lambda match: "{}" + "\n" * match.group().count("\n"), text)


def python_texts(source: str) -> Iterator[Text]:
    """Yield comments, docstrings, and strings of more than a word; values in f-strings are `{}`."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and "noqa" not in token.string:
            yield Text(token.start[0], token.string)
    tree = ast.parse(source)
    parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            words = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            words = node.value
        else:
            continue
        if " " in words.strip():
            yield Text(node.lineno, blank(words, EXAMPLE))


def markdown_texts(source: str) -> Iterator[Text]:
    """Yield paragraphs, headings, items and cells without their code and links' addresses."""
    for block in (
        MarkdownIt("commonmark").enable("table").parse(re.sub(r"\A---\n.*?\n---\n", "", source, flags=re.DOTALL))
    ):
        if block.type == "inline" and block.map is not None:
            yield Text(block.map[0] + 1, "".join(map(_inline, block.children or ())))


def _inline(token: Token) -> str:
    if token.type == "text":
        return token.content
    return {"softbreak": "\n", "hardbreak": "\n", "code_inline": "{}", "math_inline": "{}"}.get(token.type, "")


def texts_of(path: Path) -> Iterator[Text]:
    """Yield the prose of a file, by its suffix."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from python_texts(source)
    elif path.suffix == ".md":
        yield from markdown_texts(source)
    else:
        yield Text(1, blank(source, MARKUP))


def breaches(path: Path) -> Iterator[Hit]:
    """Yield what breaks a rule of words in a file."""
    for text in texts_of(path):
        words = blank(text.words, QUOTED)
        for rule in SETTINGS["rules"]:
            allowed = [
                match.span()
                for exception in rule.get("exceptions", ())
                for match in re.finditer(exception["pattern"], words, re.IGNORECASE)
            ]
            for match in re.finditer(rule["pattern"], words, re.IGNORECASE):
                if any(start <= match.start() and match.end() <= end for start, end in allowed):
                    continue
                line = text.line + words.count("\n", 0, match.start())
                context = " ".join(words[max(0, match.start() - 30) : match.end() + 30].split())
                yield Hit(path, line, rule["name"], context, rule["advice"])


def names(path: Path) -> Iterator[Hit]:
    """Yield test names that are too long, and variables of the package that a noun should replace."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            if len(node.name) > SETTINGS["settings"]["longest_test_name"]:
                yield Hit(path, node.lineno, "test name", node.name, "at most 70 characters")
        elif path.parts[0] == "src" and (name := _assigned(node)) in SETTINGS["settings"]["variables"]:
            yield Hit(path, node.lineno, "variable", str(name), "use a noun")  # type: ignore[attr-defined]


def _assigned(node: ast.AST) -> str | None:
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def files(paths: list[str]) -> Iterator[Path]:
    """Yield the files below the paths that have prose."""
    for root in map(Path, paths):
        for path in [root] if root.is_file() else sorted(root.rglob("*")):
            is_skipped = any(path.is_relative_to(skipped) for skipped in SETTINGS["settings"]["skipped"])
            has_prose = path.suffix in {".py", ".md", ".R"} or (
                path.suffix in {".txt", ".html"} and "templates" in path.parts
            )
            if has_prose and not is_skipped:
                yield path


def counted(hits: list[Hit]) -> list[str]:
    """Return lines with the number of hits by file, then by rule."""
    tables = Counter(str(hit.path) for hit in hits), Counter(hit.rule for hit in hits)
    return [f"{number:6} {name}" for table in tables for name, number in table.most_common()]


def too_many(hits: list[Hit]) -> list[Hit]:
    """Return the hits of rules that have more hits than were read and kept."""
    kept, counts = SETTINGS["kept"], Counter(hit.rule for hit in hits)
    return [hit for hit in hits if counts[hit.rule] > kept.get(hit.rule, 0)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "paths", nargs="*", help="files and folders; without any, the project, which may keep some hits"
    )
    parser.add_argument("--count", action="store_true", help="print the number of hits by file and by rule")
    options = parser.parse_args()
    hits = list[Hit]()
    for path in files(options.paths or [*SETTINGS["settings"]["paths"], "tests"]):
        if path.parts[0] != "tests":
            hits += breaches(path)
        if path.suffix == ".py":
            hits += names(path)
    shown = hits if options.paths or options.count else too_many(hits)
    lines = counted(shown) if options.count else list(map(str, shown))
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return int(bool(shown))


if __name__ == "__main__":
    sys.exit(main())
