"""Prices of the parts of a matrix product that several estimates share, in cycles of one core."""

PANELS = 0.73  # a multiply-add of vectors, from packed panels, with edges
SPREAD = 0.75  # an element that is multiplied into one such vector only
STORED = 4.0  # a vector of a finished column
