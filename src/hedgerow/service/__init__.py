"""The curator's service, which answers questions about private rows within budgets. It needs the extra ``service``."""
