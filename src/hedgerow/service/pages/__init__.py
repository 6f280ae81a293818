"""Pages of the dashboard, made from the ledger and the keys alone. They cannot access rows or engines."""
