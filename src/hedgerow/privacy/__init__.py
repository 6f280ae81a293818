"""Budget, mechanisms and selection: how private counts become releases. Imports no other part of the package."""
