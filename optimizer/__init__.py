"""From a list of dimensions to a schedule: one pass a file, in the order that `pipeline` shows."""
