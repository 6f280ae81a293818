"""Readers: decision paths of hedgerow's models and of other libraries'."""
