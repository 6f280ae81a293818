import pytest

psycopg = pytest.importorskip("psycopg", exc_type=ImportError)


def test_postgres_answers_and_compares_text_byte_by_byte(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 'é' > 'z', current_setting('fsync')").fetchone() == (True, "on")


def test_postgres_asks_for_the_password(postgres_url: str) -> None:
    user, _, place = postgres_url.rpartition("@")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(f"{user}x@{place}")


def test_spark_answers_in_local_mode(spark) -> None:
    assert spark.sparkContext.master == "local[2]"
    assert spark.sql("SELECT count(*) AS n FROM range(10)").toArrow().to_pydict() == {"n": [10]}
