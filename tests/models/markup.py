"""HTML as a browser takes it: which tags there are, and the text between them."""

from html.parser import HTMLParser


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
