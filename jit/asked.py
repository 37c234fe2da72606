"""How far ahead of what is read memory is asked for.

The hardware asks ahead by itself, but for few streams at a time, and not where an instruction reads
from several rows in turn or rows are short. A kernel that takes its input from memory therefore
asks, with every vector, for one that is read later.
"""

from __future__ import annotations

from tensorop.jit.builder import Code, Value

AHEAD = 1024  # bytes from what is read to what is asked for
SHORT = 1 << 14  # bytes up to which rows are short


def ahead_in_rows(code: Code, length: Value, stride: Value, together: int) -> Value:
    """Bytes from a vector to the one that is asked for with it: `AHEAD` of long rows, and of short
    ones the same place in a row as many bytes later, since what lies between them is not read.

    Parameters
    ----------
    length : Value
        Bytes of a row.
    stride : Value
        Bytes from one row to the next.
    together : int
        Rows that are read at the same time.
    """
    shortest = code.max(1, length)
    rows = code.add(code.builder.udiv(code.int(AHEAD), shortest), 1)
    later = code.mul(stride, code.mul(rows, together))
    return code.builder.select(code.less(shortest, SHORT), later, code.int(AHEAD))
