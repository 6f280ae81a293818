"""The boundary: what crosses it is parsed within bounds, and arithmetic that keeps rows apart."""
