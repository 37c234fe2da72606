"""Cache lines, as stores past the caches see them."""

LINE = 64  # bytes
LEAST_PART = 16  # bytes of a line that a store may have, where the others are stored next
LONG_ROW = 8 * LINE  # bytes of a row of out that make whole lines of it worth their while
