"""The command line: from a sensitive table to a published model in one command."""

from hedgerow.cli.app import app, main

__all__ = ["app", "main"]
