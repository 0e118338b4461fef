"""The built-in algorithms: a folder for each, with its verifier."""
