"""Where the numbers of each page come from: a module a page, with ``PAGE`` and ``check``."""
