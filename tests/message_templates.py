"""Templates of messages: the errors and warnings that hedgerow's source makes, as constant text with gaps."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hedgerow
from hedgerow import errors

SOURCE = Path(hedgerow.__file__).parent
ERRORS = SOURCE / "errors.py"  # the classes; its own texts are seen where the errors are made
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}

CUT = "…"  # ends a message that is too long for its line
GAP = "{…}"  # stands for what is computed


@dataclass(frozen=True, order=True)
class Template:
    """One call that makes an error or a warning: where it is, and its text with gaps for what is computed."""

    module: str
    function: str
    line: int
    text: str

    @property
    def is_constant(self) -> bool:
        """Whether some of the text is known; if not, the message comes from elsewhere."""
        return self.text.strip() != GAP

    def fits(self, message: str) -> bool:
        """Return whether a message has the constant pieces in order; what a cut line has lost is taken as read."""
        place = 0
        for piece in self.text.split(GAP):
            found = message.find(piece, place)
            if found < 0:
                return message.endswith(CUT) and (place > 0 or _ends_within(message.removesuffix(CUT), piece))
            place = found + len(piece)
        return True


def _ends_within(message: str, piece: str) -> bool:
    """Return whether a message ends with the beginning of a piece, of which it has 20 characters or more."""
    start = message.find(piece[:20])
    return start >= 0 and piece.startswith(message[start:])


def templates(source: Path = SOURCE) -> list[Template]:
    """Return the templates of all modules, in order."""
    return sorted(
        Template(path.relative_to(source).as_posix(), function, call.lineno, text)
        for path in source.rglob("*.py")
        if path != ERRORS
        for function, call in _calls(ast.parse(path.read_text(encoding="utf-8")), ())
        if (text := _text(call)) is not None
    )


def qualified(name: str) -> str:
    """Return the qualified name of a function without the marks of inner functions, lambdas and comprehensions."""
    return ".".join(part for part in name.split(".") if not part.startswith("<")) or "<module>"


def _calls(node: ast.AST, names: tuple[str, ...]) -> Iterator[tuple[str, ast.Call]]:
    """Yield the calls in a node, with the function that each is in."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        names = (*names, node.name)
    if isinstance(node, ast.Call):
        yield ".".join(names) or "<module>", node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, names)


def _text(call: ast.Call) -> str | None:
    """Return the text that a call gives to an error or warning, with gaps; None if the call makes neither."""
    function = ast.unparse(call.func)
    if function != "warnings.warn" and function.removesuffix(".of").rpartition(".")[2] not in KINDS:
        return None
    texts = [_with_gaps(argument) for argument in call.args]
    return max(texts, key=lambda text: len(text.replace(GAP, "")), default=GAP)  # some take a name or a number first


def _with_gaps(node: ast.expr) -> str:
    """Return the text of an expression, with one gap for each run of what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            text = "".join(map(_with_gaps, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            text = _with_gaps(left) + _with_gaps(right)
        case _:
            return GAP
    while GAP * 2 in text:
        text = text.replace(GAP * 2, GAP)
    return text
