"""Other sentences in place of all that `hedgerow.privacy.wording` renders."""

from hedgerow.privacy import wording


def scrambled(monkeypatch) -> None:
    """Replace every sentence that `wording` renders by another."""
    for name in (
        "of_fact",
        "of_reasons",
        "of_unit",
        "used",
        "neighbours",
        "headline",
        "guarantee",
        "reserve",
        "timing",
    ):
        real = getattr(wording, name)

        def other(*given, real=real):
            text = real(*given)
            return text if text is None else f"#{text[::-1].upper()}; "

        monkeypatch.setattr(wording, name, other)
