"""The curator's service: rows stay, questions come, a ledger decides. Needs the extra ``service``."""
