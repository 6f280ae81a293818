"""Budget, mechanisms and selection: how private counts become releases. Imports errors and bounded reading only."""
