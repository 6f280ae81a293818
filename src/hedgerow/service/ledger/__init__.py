"""The ledger: an append-only hash chain of declarations, charges and answers by dataset and analyst."""
