"""The guard around foreign code: nothing of what it raises or warns of is left."""

import threading
import warnings

import pytest

from hedgerow.boundary.foreign_code import guarded


class PanicError(BaseException):
    """As polars raises where its core panics."""


def fail(kind):
    raise kind("bin") from KeyError("bin")


def test_what_a_call_returns_is_returned():
    assert guarded(lambda: 3, ValueError("expected")) == 3


@pytest.mark.parametrize("kind", [ValueError, KeyError, OSError, RecursionError, UserWarning, PanicError])
def test_an_error_is_replaced_with_all_that_hangs_on_it(kind):
    problem = ValueError("expected numbers.")
    with pytest.raises(ValueError, match=r"^expected numbers\.$") as caught:
        guarded(lambda: fail(kind), problem)
    assert caught.value is problem
    assert (problem.__context__, problem.__cause__, vars(problem)) == (None, None, {})


def test_a_lack_of_memory_is_no_property_of_the_values():
    with pytest.raises(MemoryError, match=r"^$") as caught:
        guarded(lambda: fail(MemoryError), ValueError("expected"))
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_who_stops_the_program_is_heard(kind):
    with pytest.raises(kind, match=r"^$") as caught:
        guarded(lambda: fail(kind), ValueError("expected"))
    assert (caught.value.__context__, caught.value.__cause__) == (None, None)


def test_no_warning_is_shown_nor_raised_and_the_filters_stay_as_they_were():
    before = warnings.filters[:]
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        assert guarded(lambda: warnings.warn("bin", stacklevel=1), ValueError("expected")) is None
        assert shown == []
        warnings.warn("mine", stacklevel=1)
        assert len(shown) == 1
        warnings.simplefilter("error")
        assert guarded(lambda: warnings.warn("bin", stacklevel=1), ValueError("expected")) is None
    assert warnings.filters == before


def test_filters_are_restored_when_the_last_of_several_threads_is_through():
    """The first one in is the first one out: if each restored the filters it found, none would be those from before."""
    before = warnings.filters[:]
    one_is_in, both_are_in, one_is_out = threading.Event(), threading.Barrier(2), threading.Event()

    def first():
        guarded(lambda: (one_is_in.set(), both_are_in.wait()), ValueError("expected"))
        one_is_out.set()

    def last():
        one_is_in.wait()
        guarded(lambda: (both_are_in.wait(), one_is_out.wait(), warn("bin")), ValueError("expected"))

    def warn(text):
        warnings.warn(text, stacklevel=1)

    threads = [threading.Thread(target=call) for call in (first, last)]
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        warn("mine")
    assert [str(warning.message) for warning in shown] == ["mine"]
    assert warnings.filters == before
