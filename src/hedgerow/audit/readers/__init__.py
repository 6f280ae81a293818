"""Readers of decision paths, from models of hedgerow and of other libraries."""
