"""Load hostile files under limits of time and memory: a process of its own, that prints what broke a rule.

``python -m tests.adversarial.fuzz_files FOLDER SEED CASES`` mutates valid files at random; where the seed is ``small``
or ``large`` it loads files made by hand. The only outcomes allowed are success, SchemaError, ModelFormatError and
OSError, in a line of at most 1,000 characters.
"""

from __future__ import annotations

import copy
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hedgerow.errors import ModelFormatError, SchemaError
from hedgerow.models.envelope import seal
from hedgerow.text.values import printable
from tests.adversarial.hostile_files import LOADERS, SMALL, large, rechained, use

MOST_SECONDS, MOST_BYTES = 20.0, 2**30  # of the processor, and more than what the imports take
HUGE = "@HUGE@"  # a number that Python writes as text only
# fmt: off
HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 0.5, 1.0, -0.0, 1e308, -1e-320, 2**53, 2**63, -(2**63), 10**399, float("nan"), HUGE,
    float("inf"), "", " ", "a", "no", "1", "\0", "\ud800", "\x1b[2J", "\u202e", "=", "1e99999999", "1/0", "-1/2",
    "9" * 4000, f"1/{'9' * 999}", "x" * 10**5, "missing", "between", "bin", "error", "clip", [], {}, [[]], [None],
    ["a"] * 500, list(range(300)), [3, 4], ["<=", ">"], {"a": {}}, {"kind": "boolean"},
    {"if": {}, "true": {}, "false": {}}, "1995-02-29", "1995-12-31", "0000-01-01", "10 years",
]
SNIPPETS = [
    b"\0", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"\r", b"\t", b"\n", b"\n  ", b'"', b"'", b"#",
    b"|", b"&a ", b"*a", b"<<: *a", b"&a [*a]", b"!!python/object/apply:os.getcwd []", b"!!set ", b"---\n", b"[" * 300,
    b"%YAML 1.2\n---\n", b"]" * 300, b"{" * 300, b"- " * 300, b"? " * 300, b'{"a":' * 300, b"\\ud800", b"1e99999999",
    b"9" * 5000, b"NaN", b"0x" + b"F" * 3000, b"1:30" + b":30" * 2000, b"2020-01-01", b".inf", b"1_000", b"-", b"0",
    b"true", b"null", b"a: 1\n", b'"a": 1, ', b",", b":",
]
# fmt: on


def mutated_data(data: Any, rng: random.Random) -> Any:
    """Return data with one to four of its parts replaced, removed, repeated or moved."""
    data = copy.deepcopy(data)
    for _ in range(rng.randint(1, 4)):
        places = list(_places(data))
        if not places:
            break
        part, key = rng.choice(places)
        action = rng.randrange(6)
        if action < 3:
            deep = rng.random() < 0.05
            part[key] = _nested(rng.choice([50, 99, 101, 150])) if deep else copy.deepcopy(rng.choice(HOSTILE))
        elif action == 3:
            del part[key]
        elif action == 4:
            other, place = rng.choice(places)
            part[key] = copy.deepcopy(other[place])
        elif isinstance(part, list):
            part.insert(key, copy.deepcopy(part[key]))
        else:
            part[rng.choice(["a", "missing", "digest", "kind", "\n", "age"])] = copy.deepcopy(part[key])
    return data


def _nested(depth: int) -> list[Any]:
    result: list[Any] = []
    for _ in range(depth):
        result = [result]
    return result


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in list(items):
        yield data, key
        yield from _places(value)


def mutated_bytes(raw: bytes, rng: random.Random) -> bytes:
    """Return bytes with one to four changes: some flipped, cut out, repeated, or hostile ones put in."""
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(raw) + 1)
        stop = min(len(raw), start + rng.choice([0, 1, 2, 10, 100]))
        put = [bytes(rng.randrange(256) for _ in range(stop - start)), b"", raw[start:stop] * 2, rng.choice(SNIPPETS)]
        raw = raw[:start] + rng.choice([*put, put[-1]]) + raw[stop:]
    return raw


def written(data: Any, ending: str, rng: random.Random) -> bytes:
    """Return data as a file of one layout or another."""
    if ending == "yaml":
        style = rng.choice([None, True, False])
        text = yaml.safe_dump(data, sort_keys=False, allow_unicode=rng.random() < 0.5, default_flow_style=style)
    else:
        text = json.dumps(data, indent=rng.choice([None, 2]))
    return text.replace(f'"{HUGE}"', "9" * 5000).replace(HUGE, "9" * 5000).encode("utf-8", "surrogatepass")


def mutations(seed: str, number: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield cases: what they are, whose loader reads them, and the file; each by its own number."""
    for case in range(number):
        rng = random.Random(f"{seed}/{case}")
        kind = rng.choice(list(LOADERS))
        ending, data, _ = LOADERS[kind]
        data = mutated_data(data, rng) if rng.random() < 0.7 else data
        if isinstance(data, dict) and "digest" in data and rng.random() < 0.9:
            data = seal({key: value for key, value in data.items() if key != "digest"})
        if kind == "budget" and isinstance(data, dict) and rng.random() < 0.9:
            data = rechained(data)
        raw = written(data, ending, rng)
        yield f"seed {seed}, case {case}", kind, mutated_bytes(raw, rng) if rng.random() < 0.4 else raw


def cases(seed: str, number: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield the files to load."""
    if seed == "small":
        yield from ((name, kind, text.encode()) for name, (kind, text) in SMALL.items())
    elif seed == "large":
        yield from ((name, kind, make().encode()) for name, (kind, make) in large().items())
    else:
        yield from mutations(seed, number)


def outcome(kind: str, folder: Path, raw: bytes) -> tuple[str, str]:
    """Return "read", "refused" or "broken", and what was said."""
    ending, _, load = LOADERS[kind]
    path = folder / f"case.{ending}"
    path.write_bytes(raw)
    start, said = time.process_time(), ""
    try:
        use(load(path))
    except (SchemaError, ModelFormatError, OSError) as error:
        said = str(error)
        if len(said) > 1000 or printable(said) != said:
            return "broken", f"a message of {len(said)} characters: {said[:2000]!r}"
    except BaseException as error:  # MemoryError, RecursionError and whatever else
        if not str(error).startswith("the model is too large"):  # a text too long to export
            return "broken", f"{type(error).__name__}: {str(error)[:2000]}"
    taken = time.process_time() - start
    return ("broken", f"{taken:.1f} s") if taken > MOST_SECONDS else ("refused" if said else "read", said)


def main(folder: str, seed: str, number: str) -> None:
    statm = Path("/proc/self/statm")
    taken = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 2**32
    resource.setrlimit(resource.RLIMIT_AS, (taken + MOST_BYTES, taken + MOST_BYTES))
    result, slowest = {"read": 0, "refused": 0}, (0.0, "")
    for name, kind, raw in cases(seed, int(number)):
        start = time.process_time()
        what, said = outcome(kind, Path(folder), raw)
        if what == "broken":
            sys.exit(f"{kind}, {name}: {said}\nfile of {len(raw)} bytes: {raw[:3000]!r}")
        result[what] += 1
        slowest = max(slowest, (time.process_time() - start, f"{kind}, {name}"))
    print(f"{result}; the slowest took {slowest[0]:.2f} s: {slowest[1]}")  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
