"""Text of CSV files."""

from hypothesis import strategies as st

CELLS = ["a", "", " ", '"a"', '""', '"a""b"', '"\n"', '","', '"\r\n"', '""""', "é", '"é,"', '"\r"', "\ufeff"]


BROKEN = ['"', ",", "\n", "\r", "\0", "a", "\r\n", '""', ""]


@st.composite
def files(draw):
    fields, ending = draw(st.sampled_from([1, 2, 2, 3])), draw(st.sampled_from(["\n", "\r\n"]))
    row = st.lists(st.sampled_from(CELLS), min_size=fields, max_size=fields).map(",".join)
    text = ending.join(draw(st.lists(row, min_size=1, max_size=5))) + draw(st.sampled_from(["", ending]))
    if draw(st.booleans()):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(st.sampled_from(BROKEN)) + text[place + draw(st.integers(0, 1)) :]
    return text, fields
