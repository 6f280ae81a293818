import pytest

from hedgerow.text.progress import progress_bar, tracked


def test_items_are_those_that_were_given_shown_or_not(capsys):
    assert list(tracked(iter("abc"), "letters", 3, verbose=True)) == list("abc")
    assert "letters" in capsys.readouterr().err
    assert list(tracked(iter("abc"), "letters", 3, verbose=False)) == list("abc")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [True, False])
def test_only_the_heading_is_written_where_there_is_no_terminal(capsys, verbose):
    with progress_bar("searching", 9, verbose=verbose, heading="exact search: 9 states") as update:
        update(advance=1, description="level 1")
    assert capsys.readouterr() == ("", "exact search: 9 states\n" * verbose)
