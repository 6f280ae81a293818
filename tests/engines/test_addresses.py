"""Addresses: which are those of engines, and that none is printed with a password."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hedgerow.engines.files import has_password, is_address, shown
from hedgerow.engines.sources import open_table

SECRET = "s3cr3t"


def test_a_csv_file_alone_is_read_in_memory(tmp_path):
    assert not is_address("data.csv")
    assert not is_address("folder/Data.CSV")
    for address in ("a.parquet", "*.csv", "folder", "duckdb:///a.duckdb::t", "postgresql://host/db::t"):
        assert is_address(address)
    (tmp_path / "a[1].csv").write_text("a\n1\n")
    assert not is_address(str(tmp_path / "a[1].csv"))
    assert is_address(str(tmp_path / "a[2].csv"))


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://ann:p@ss:w@host/db::t", "postgresql://ann:***@host/db::t"),
        ("postgresql://ann:se/cr@host/db::t", "postgresql://ann:***@host/db::t"),
        ("postgresql://ann@host/db::t", "postgresql://ann@host/db::t"),
        ("postgresql://[::1]:5432/db::a.t", "postgresql://[::1]:5432/db::a.t"),
        ("postgresql://host/db?password=pw&x=1::t", "postgresql://host/db?password=***&***::t"),
        ("postgresql://host/db?sslmode=require&user=ann", "postgresql://host/db?sslmode=require&user=***"),
        ("duckdb:///clinic.duckdb::patients", "duckdb:///clinic.duckdb::patients"),
        ("folder/k=1/*.parquet", "folder/k=1/*.parquet"),
    ],
)
def test_an_address_is_shown_as_it_is_but_for_passwords(address, expected):
    assert shown(address) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("postgresql://ann@host:5432/db::t", False),
        ("postgresql://[::1]:5432/db?passfile=/run/secrets/pgpass&sslkey=/run/secrets/key", False),
        ("duckdb:///clinic.duckdb::patients", False),
        ("sqlite:////srv/passwords/ledger.db", False),
        ("postgresql://ann@server:pw@host/db", True),
        ("postgresql://ann:p/w@host/db", True),
        ("host=server PASSWORD = pw", True),
    ],
)
def test_passwords_in_addresses_are_recognised(address, expected):
    assert has_password(address) == expected


WITH_SECRETS = [
    f"postgresql://ann:{SECRET}@host/db::t",
    f"postgresql://ann:a:{SECRET}@host/db::t",
    f"postgresql://ann:a@{SECRET}:b@host/db::t",
    f"postgresql://ann:?{SECRET}@host/db::t",
    f"postgresql://ann:#{SECRET}@host/db::t",
    f"postgresql://ann:/{SECRET}@host/db::t",
    f"postgresql://ann:::{SECRET}@host/db::t",
    f"postgresql://ann:{SECRET}::t@host/db",
    f"postgresql://:{SECRET}@/db::t",
    f"postgresql://ann%40x:{SECRET}@host/db::t",
    f"postgresql://ann:{SECRET}/db::t",
    f"postgresql://[::1:{SECRET}@host/db::t",
    f"postgresql://host/db?sslpassword={SECRET}::t",
    f"postgresql://host/db?pass%77ord={SECRET}::t",
    f"postgresql://host/db?PASSWORD={SECRET}::t",
    f"postgresql://host/db?user=ann&password=a&{SECRET}::t",
    f"postgresql://host/db?password=a:{SECRET}::t",
    f"postgresql://host/db?password=a::{SECRET}::t",
    f"postgresql://host/db?password=a/{SECRET}::t",
    f"postgresql://host/db?password=a?{SECRET}::t",
    f"postgresql://host/db?password=a#{SECRET}::t",
    f"postgresql://host/db?password=a;password={SECRET}::t",
    f"postgresql://host/db?sslmode={SECRET}::t",
    f"postgresql://host/db?password=a&{SECRET}=b::t",
    f"postgresql://host/db?options=-c%20x%3D{SECRET}::t",
    f"postgres://ann:{SECRET}@host/db::t",
    f"POSTGRESQL://ann:{SECRET}@host/db::t",
    f"mysql://ann:{SECRET}@host/db::t",
    f"mysql+x://ann:{SECRET}@host/db::t",
    f"duckdb://ann:{SECRET}@host/db::t",
    f"my sql://ann:{SECRET}@host/db::t",
    f"s3://bucket/a.parquet?secret={SECRET}",
    f"postgresql:/ann:{SECRET}@host/db::t",
    f"postgresql:ann:{SECRET}@host/db::t",
    f"ann:{SECRET}@host/db::t",
    f"host=db password={SECRET} user=ann",
    f"host=db PASSWORD = '{SECRET}'",
]


@pytest.mark.parametrize("address", WITH_SECRETS)
def test_no_password_is_shown_nor_in_an_error(tmp_path, monkeypatch, address):
    monkeypatch.chdir(tmp_path)
    assert SECRET not in shown(address)
    with pytest.raises((ValueError, OSError), match=r"\S") as error, open_table(address):
        pass
    assert SECRET not in f"{error.value}{error.value!r}"
    assert error.value.__context__ is None


@given(st.text("ab:@/?#&=%[]", max_size=8), st.text("ab:@/?#&=%[]", max_size=8))
def test_no_password_is_shown_whatever_is_round_it(before, after):
    assert SECRET not in shown(f"postgresql://ann:{before}{SECRET}{after}@host/db::t")
    for key in ("password", "sslpassword", "pass%77ord"):
        assert SECRET not in shown(f"postgresql://host/db?{key}={before}{SECRET}{after}::t")


def test_only_the_place_of_a_server_is_printed():
    assert re.fullmatch(
        r"postgresql://ann:\*{3}@host:5432/db::ward.t", shown("postgresql://ann:x@host:5432/db::ward.t")
    )


def test_text_after_a_path_of_duckdb_is_hidden():
    assert shown("duckdb:///md:db?motherduck_token=TOKEN::t") == "duckdb:///md:db?***"
    assert shown("duckdb:///clinic.duckdb::patients") == "duckdb:///clinic.duckdb::patients"
