"""Text: values, days, messages and markup."""
