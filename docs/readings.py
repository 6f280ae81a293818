"""Learn the models of docs/reading.md anew, with other noise: `python docs/readings.py`, then `make numbers`."""

import os
import re
from pathlib import Path

PAGE = Path(__file__).with_name("reading.md")
FOLDER = PAGE.with_name("readings")


def main() -> None:
    """Run the code of the page in the folder of its models."""
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    os.chdir(FOLDER)
    exec(compile(code, PAGE.name, "exec"), {})


if __name__ == "__main__":
    main()
