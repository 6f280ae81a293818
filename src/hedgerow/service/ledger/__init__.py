"""The ledger: what was charged to which dataset, by whom, and what was answered; append-only, chained by hash."""
