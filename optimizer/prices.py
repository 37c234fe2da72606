"""Prices that several estimates share, in cycles of one core."""

PANELS = 0.73  # a multiply-add of vectors, from packed panels, with edges
SPREAD = 0.75  # an element that is multiplied into one such vector only
STORED = 4.0  # a vector of a finished column
PRODUCT = 0.55  # a vector multiply-add of a matrix product
VECTOR = 2.5  # a vector of a stream, from L1; SUMMED: to a sum in a register
SUMMED = 0.65
BESIDE = 0.3  # of the memory's time, or the arithmetic's, that the other does not hide
