"""What an exact draw discloses about each row, computed and not estimated."""
