"""Run the study: `python -m studies.learning_algorithm --seeds 3`."""

from studies.learning_algorithm.study import main

main()
