"""PDR, Section VI: how many bits the knowledge of the learning algorithm adds to a model's reconstruction."""
