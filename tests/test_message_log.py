"""How messages are logged and merged into a snapshot, on a small source."""

import pytest

from tests.message_snapshot import line_of, plain, read_snapshot, snapshot, unknown, unmatched
from tests.message_templates import templates

SOURCE = """
class Age:
    def check(self, age):
        problem = DomainError(f"expected an age of at most {self.most}, "
                              f"got {shown(age)}{self.end}; leave it out.")
        warnings.warn("ages are rounded", RuntimeWarning)
        guarded(lambda: age, problem)
        raise FileError.of(errno.EACCES, "the file is read-only" + self.end, path)

def read(problem):
    return known("expected no error")
    raise SchemaError(problem, key="low")
"""


@pytest.fixture
def found(tmp_path):
    (tmp_path / "age.py").write_text(SOURCE, encoding="utf-8")
    return templates(tmp_path)


def test_templates_are_the_calls_that_make_errors_and_warnings(found):
    assert [(one.module, one.function, one.line, one.text) for one in found] == [
        ("age.py", "Age.check", 4, "expected an age of at most {…}, got {…}; leave it out."),
        ("age.py", "Age.check", 6, "ages are rounded"),
        ("age.py", "Age.check", 8, "the file is read-only{…}"),
        ("age.py", "read", 12, "{…}"),
    ]


def test_a_snapshot_has_the_shortest_example_of_each_template_and_what_is_missing(found):
    ages = [f"column 'age': expected an age of at most 120, got {age}; leave it out." for age in (1000, 130, 121)]
    log = {("age.py", "Age.check", 4, message) for message in ages}
    log |= {("age.py", "read", 12, message) for message in ("key 'low': got 10.", "key 'low': got 9.", "no key")}
    text = snapshot(log, found)
    made, unmade = read_snapshot(text)
    assert {line.text for line in made} == {ages[2], "key 'low': got 9.", "no key"}
    assert {line.text for line in unmade} == {"ages are rounded", "the file is read-only{…}"}
    assert unknown(made, found) == set()
    assert len(unmatched(found, made)) == 2


def test_a_changed_text_and_a_cut_line_are_told_apart(found):
    long = f"expected an age of at most 120, got {'9' * 300}; leave it out."
    made, _ = read_snapshot(snapshot({("age.py", "Age.check", 4, long)}, found))
    assert len(unmatched(found, made)) == 3
    made, _ = read_snapshot(snapshot({("age.py", "Age.check", 4, "expected a smaller age.")}, found))
    assert (len(unmatched(found, made)), len(unknown(made, found))) == (4, 1)


def test_a_snapshot_is_read_as_it_is_written(found):
    log = {("age.py", "Age.check", 4, f"column {'a' * 300!r}: expected an age of at most 120, got 130; leave it out.")}
    made, unmade = read_snapshot(snapshot(log, found))
    assert {line_of(one) for one in unmatched(found, made)} == unmade


def test_paths_of_a_run_are_left_out(tmp_path):
    assert plain(f"{tmp_path}/a.csv: expected a CSV file,\nfound '{tmp_path}'").startswith("TMP/a.csv: expected")
    assert str(tmp_path.parent) not in plain(f"found '{tmp_path}'…")
