"""Elementwise functions on values under construction (see `jit/arithmetic.py`).

In go an `Arithmetic` and the parts of one or two values, out come the parts of the result.
Everything is straight-line vector code without calls: special cases are selected, not branched to.

Results follow numpy, also at the edges: NaN passes through relu, minimum and maximum, integers
wrap, complex division and reciprocal are Smith's, complex square root and absolute value neither
overflow nor underflow where the result does not, and their infinities are those of C99, Annex G.
exp, tanh, sigmoid and gelu are in `jit/transcendental.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Value
from tensorop.jit.transcendental import exp, gelu, sigmoid, tanh
from tensorop.jit.types import computed

_INFINITY = float("inf")


def relu(of: Arithmetic, a: Number) -> Number:
    """max(a, 0); NaN stays NaN."""
    return of.clamp(a, of.zero)


def square(of: Arithmetic, a: Number) -> Number:
    """a * a."""
    return of.mul(a, a)


def negative(of: Arithmetic, a: Number) -> Number:
    """-a; unsigned integers wrap."""
    return of.neg(a)


def conjugate(of: Arithmetic, a: Number) -> Number:
    """The complex conjugate; real types unchanged."""
    return of.conj(a)


def absolute(of: Arithmetic, a: Number) -> Number:
    """|a|; of a complex type the magnitude, with imaginary part zero."""
    if of.element.parts == 2:
        return (_hypotenuse(of, *(of.math("fabs", part) for part in a)), of.zero[0])
    if of.element.is_float:
        return (of.math("fabs", a[0]),)
    return of.maximum(a, of.neg(a)) if of.element.kind == "i" else a


def sqrt(of: Arithmetic, a: Number) -> Number:
    """The principal square root."""
    return _sqrt_complex(of, *a) if of.element.parts == 2 else (of.math("sqrt", a[0]),)


def reciprocal(of: Arithmetic, a: Number) -> Number:
    """1 / a; of a complex type by Smith's method (CACM 5, 1962), as numpy does it."""
    b = of.builder
    one = of.constant(1)[0]
    if of.element.parts == 1:
        return (b.fdiv(one, a[0]),)
    wide = b.fcmp_ordered("<=", of.math("fabs", a[1]), of.math("fabs", a[0]))
    larger, smaller = b.select(wide, a[0], a[1]), b.select(wide, a[1], a[0])
    ratio = b.fdiv(smaller, larger)
    scale = b.fadd(larger, b.fmul(smaller, ratio))
    near, far = b.fdiv(one, scale), b.fdiv(ratio, scale)
    return b.select(wide, near, far), b.fneg(b.select(wide, far, near))


def divide(of: Arithmetic, a: Number, c: Number) -> Number:
    """a / c of floating types; complex ones by Smith's method, as numpy does it: a division by
    zero is one by +0 in both parts."""
    b = of.builder
    if of.element.parts == 1:
        return (b.fdiv(a[0], c[0]),)
    real, imaginary = of.math("fabs", c[0]), of.math("fabs", c[1])
    wide = b.fcmp_ordered(">=", real, imaginary)
    larger, smaller = b.select(wide, c[0], c[1]), b.select(wide, c[1], c[0])
    ratio = b.fdiv(smaller, larger)
    scale = b.fdiv(of.constant(1)[0], b.fadd(larger, b.fmul(smaller, ratio)))
    first, second = b.select(wide, a[0], a[1]), b.select(wide, a[1], a[0])
    sum_ = b.fmul(b.fadd(first, b.fmul(second, ratio)), scale)
    # (a1 - a0 ratio) where |c0| is the larger part, (a1 ratio - a0) where |c1| is.
    minuend = b.select(wide, a[1], b.fmul(a[1], ratio))
    subtrahend = b.select(wide, b.fmul(a[0], ratio), a[0])
    difference = b.fmul(b.fsub(minuend, subtrahend), scale)
    zero = _both(of, _equal(of, real, 0.0), _equal(of, imaginary, 0.0))
    return (
        b.select(zero, b.fdiv(a[0], real), sum_),
        b.select(zero, b.fdiv(a[1], real), difference),
    )


def _equal(of: Arithmetic, part: Value, value: float) -> Value:
    return of.builder.fcmp_ordered("==", part, of.constant(value)[0])


def _both(of: Arithmetic, a: Value, b: Value) -> Value:
    return of.builder.and_(a, b)


def _hypotenuse(of: Arithmetic, a: Value, b: Value) -> Value:
    """sqrt(a^2 + b^2) of non-negative a and b as larger * sqrt(1 + (smaller / larger)^2): within
    two units in the last place, at any magnitude. Infinite where either is, even beside a NaN."""
    build = of.builder
    more = build.fcmp_ordered(">", a, b)
    larger, smaller = build.select(more, a, b), build.select(more, b, a)
    one = of.constant(1)[0]
    ratio = build.fdiv(smaller, build.select(_equal(of, larger, 0.0), one, larger))
    root = of.math("sqrt", build.fadd(one, build.fmul(ratio, ratio)))
    infinite = build.or_(_equal(of, a, _INFINITY), _equal(of, b, _INFINITY))
    return build.select(infinite, of.constant(_INFINITY)[0], build.fmul(larger, root))


def _sqrt_complex(of: Arithmetic, real: Value, imaginary: Value) -> Number:
    """With t = sqrt((|a| + |z|) / 2), the root of z = a + bi is t + b/2t i, or for negative a
    |b|/2t + t i with the sign of b (Kahan, "Branch cuts", 1987). Very large and very small z are
    scaled by a power of four on the way in and by its root on the way out."""
    b = of.builder
    plain_a, plain_b = of.math("fabs", real), of.math("fabs", imaginary)
    scale, unscale = _sqrt_scales(of, plain_a, plain_b)
    a, c = b.fmul(plain_a, scale), b.fmul(plain_b, scale)
    half, zero, infinity = (of.constant(value)[0] for value in (0.5, 0.0, _INFINITY))
    root = of.math("sqrt", b.fmul(half, b.fadd(a, _hypotenuse(of, a, c))))
    other = b.fmul(unscale, b.fdiv(b.fmul(half, c), root))
    root = b.fmul(unscale, root)
    left = b.fcmp_ordered("<", real, zero)
    x, y = b.select(left, other, root), b.select(left, root, other)
    # An infinite real part; `nothing` is 0, or NaN beside a NaN.
    nothing = b.fsub(plain_b, plain_b)
    endless = _equal(of, plain_a, _INFINITY)
    x = b.select(endless, b.select(left, nothing, infinity), x)
    y = b.select(endless, b.select(left, infinity, nothing), y)
    at_zero = _both(of, _equal(of, plain_a, 0.0), _equal(of, plain_b, 0.0))
    x, y = b.select(at_zero, zero, x), b.select(at_zero, zero, y)
    # An infinite imaginary part decides, whatever the real part is.
    vertical = _equal(of, plain_b, _INFINITY)
    x, y = b.select(vertical, infinity, x), b.select(vertical, infinity, y)
    return x, of.math("copysign", y, imaginary)


def _sqrt_scales(of: Arithmetic, a: Value, b: Value) -> tuple[Value, Value]:
    """Factors that bring |a|, |b| away from overflow and subnormal numbers, and undo it after a
    root."""
    build = of.builder
    single = isinstance(computed(of.element), ir.FloatType)
    huge, tiny, power = (2.0**100, 2.0**-100, 24) if single else (2.0**1000, 2.0**-900, 64)
    larger = build.select(build.fcmp_ordered(">", a, b), a, b)
    is_huge = build.fcmp_ordered(">", larger, of.constant(huge)[0])
    is_tiny = build.fcmp_ordered("<", larger, of.constant(tiny)[0])

    def choose(huge: float, tiny: float) -> Value:
        one = of.constant(1)[0]
        small = build.select(is_tiny, of.constant(tiny)[0], one)
        return build.select(is_huge, of.constant(huge)[0], small)

    return choose(2.0**-4, 4.0**power), choose(2.0**2, 2.0**-power)


UNARY_FUNCTIONS: dict[str, Callable[[Arithmetic, Number], Number]] = {
    "copy": lambda of, a: a,
    "conj": conjugate,
    "relu": relu,
    "square": square,
    "sqrt": sqrt,
    "reciprocal": reciprocal,
    "abs": absolute,
    "neg": negative,
    "exp": exp,
    "tanh": tanh,
    "sigmoid": sigmoid,
    "gelu": gelu,
}

BINARY_FUNCTIONS: dict[str, Callable[[Arithmetic, Number, Number], Number]] = {
    "add": lambda of, a, b: of.add(a, b),
    "sub": lambda of, a, b: of.sub(a, b),
    "mul": lambda of, a, b: of.mul(a, b),
    "div": divide,
    "min": lambda of, a, b: of.minimum(a, b),
    "max": lambda of, a, b: of.maximum(a, b),
    "and": lambda of, a, b: of.mul(a, b),  # bool
    "or": lambda of, a, b: of.add(a, b),  # bool
}


def cast(source: Arithmetic, target: Arithmetic, value: Number) -> Number:
    """A value of one element type as a value of another, as numpy's `astype` converts: floats are
    truncated towards zero to integers (and then wrap; beyond 64 bits the result is unspecified),
    complex numbers lose their imaginary part, everything but zero is True. Every conversion rounds
    once, but for wide integers to bfloat16, which go through float32."""
    if target.element.kind == "b":
        return (_truth(source, value),)
    parts = value[: target.element.parts]
    converted = tuple(_convert(source, target, part) for part in parts)
    return converted + target.zero[len(converted) :]


def _truth(source: Arithmetic, value: Number) -> Value:
    b = source.builder
    if source.element.kind == "b":
        return value[0]
    zero = source.zero[0]
    if source.element.is_float:
        bits = [b.fcmp_unordered("!=", part, zero) for part in value]
    else:
        bits = [b.icmp_unsigned("!=", part, zero) for part in value]
    bit = bits[0] if len(bits) == 1 else b.or_(*bits)
    return b.zext(bit, source.shaped(ir.IntType(8)))


def _convert(source: Arithmetic, target: Arithmetic, part: Value) -> Value:
    was, becomes = source.element, target.element
    if was.is_float and becomes.is_float:
        return _float_to_float(source, target, part)
    if was.is_float:
        return _float_to_integer(source, target, part)
    signed = was.kind == "i"
    b = source.builder
    if becomes.is_float:
        return (b.sitofp if signed else b.uitofp)(part, target.type)
    if becomes.part == was.part:
        return part
    if becomes.part < was.part:
        return b.trunc(part, target.type)
    return (b.sext if signed else b.zext)(part, target.type)


def _float_to_integer(source: Arithmetic, target: Arithmetic, part: Value) -> Value:
    """Through a wider signed type where there is one, so that what is out of range wraps as in C on
    the machines we know; only unsigned 64-bit integers need the unsigned conversion."""
    b, becomes = source.builder, target.element
    if becomes.part == 8:
        return (b.fptosi if becomes.kind == "i" else b.fptoui)(part, target.type)
    wide = 64 if becomes.part == 4 and becomes.kind == "u" else 32
    whole = b.fptosi(part, source.shaped(ir.IntType(wide)))
    return whole if wide == 8 * becomes.part else b.trunc(whole, target.type)


def _float_to_float(source: Arithmetic, target: Arithmetic, part: Value) -> Value:
    was, becomes = (_RANKS[str(computed(side.element))] for side in (source, target))
    if was == becomes:
        return part
    if was < becomes:
        return source.builder.fpext(part, target.type)
    if target.element.half:
        return _round_to_odd(source, target, part)
    return source.builder.fptrunc(part, target.type)


_RANKS: dict[str, int] = {"float": 0, "double": 1, "x86_fp80": 2}


def _round_to_odd(source: Arithmetic, target: Arithmetic, part: Value) -> Value:
    """float32 in which an inexact result has an odd last bit: rounding that on to a half type gives
    what one rounding would have (Boldo and Melquiond, 2008)."""
    b = source.builder
    near = b.fptrunc(part, target.type)
    back = b.fpext(near, source.type)
    wide = source.shaped(ir.IntType(32))
    one = ir.Constant(wide, 1 if source.lanes == 1 else [1] * source.lanes)
    bits = b.bitcast(near, wide)
    inexact = b.fcmp_ordered("!=", back, part)
    even = b.icmp_unsigned("!=", b.and_(bits, one), one)
    short = b.fcmp_ordered("<", source.math("fabs", back), source.math("fabs", part))
    odd = b.select(short, b.add(bits, one), b.sub(bits, one))
    return b.bitcast(b.select(b.and_(inexact, even), odd, bits), target.type)
