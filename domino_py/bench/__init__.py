"""`domino bench`: this library beside other ways to constrain a model, on fixed workloads."""
