"""Private scorecards: which counts are released, and how points are made of them."""
