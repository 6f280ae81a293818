"""Pages of the dashboard, made of the ledger and the keys alone: no row, and no engine, is within their reach."""
