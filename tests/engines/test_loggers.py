"""Loggers of engines are mute while an engine is asked, in all threads, and go on afterwards; others always do."""

import logging
import threading

import pytest

from hedgerow.engines.faults import muted

NAMES = ("py4j.java_gateway", "psycopg", "ibis.backends", "sqlglot")


def says(name, caplog):
    caplog.clear()
    logging.getLogger(name).error("a bin")
    return "a bin" in caplog.text


@pytest.mark.parametrize("name", NAMES)
def test_a_logger_of_an_engine_is_mute_meanwhile(name, caplog):
    assert says(name, caplog)
    with muted():
        assert not says(name, caplog)
        with muted():
            assert not says(name, caplog)
        assert not says(name, caplog)
    assert says(name, caplog)


def test_other_loggers_go_on(caplog):
    with muted():
        assert says("app", caplog)
        assert says("psycopg2_of_mine", caplog)


def test_an_error_unmutes():
    with pytest.raises(KeyError, match="x"), muted():
        raise KeyError("x")
    assert not logging.getLogger("psycopg").filters


def test_what_the_process_has_disabled_stays_so(caplog):
    logging.disable(logging.ERROR)
    try:
        with muted():
            pass
        assert not says("app", caplog)
    finally:
        logging.disable(logging.NOTSET)
    assert says("app", caplog)


def test_threads_that_leave_in_another_order_unmute_when_the_last_has_left(caplog):
    """With one switch for the process, the first to leave unmuted the others, and the last left it off for good."""
    inside, may_leave = [threading.Event() for _ in range(2)], [threading.Event() for _ in range(2)]

    def run(i):
        with muted():
            inside[i].set()
            may_leave[i].wait(10)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(2)]
    for thread, entered in zip(threads, inside, strict=True):
        thread.start()
        assert entered.wait(10)
    may_leave[0].set()
    threads[0].join()
    assert not says("psycopg", caplog)
    may_leave[1].set()
    threads[1].join()
    assert says("psycopg", caplog)
    assert says("app", caplog)


def test_many_threads_leave_no_filter_behind():
    def run():
        for _ in range(300):
            with muted():
                pass

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not any(logging.getLogger(name).filters for name in NAMES)
    assert logging.root.manager.disable == logging.NOTSET
