"""The `hedgerow` command, for `python -m hedgerow`."""

from hedgerow.cli import main

if __name__ == "__main__":
    main()
