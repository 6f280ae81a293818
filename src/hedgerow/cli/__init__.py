"""Command line of hedgerow."""

from hedgerow.cli.app import app, main

__all__ = ["app", "main"]
