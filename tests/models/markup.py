"""HTML as a browser takes it: which tags there are, and the text between them."""

from html.parser import HTMLParser

SHAPES = {"svg", "g", "defs", "path", "use", "rect", "clippath"}
"""The elements of a picture."""


class Markup(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:  # noqa: ARG002 -- the parser's signature
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


class Read(HTMLParser):
    """The elements, their attributes, and the text and comments of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags, self.given, self.texts = set[str](), list[tuple[str, str]](), list[str]()
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.add(tag)
        self.given += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def handle_comment(self, data: str) -> None:
        self.texts.append(data)
