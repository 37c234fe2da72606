"""float16 and bfloat16 to and from float32, as vectors, without library calls.

Where the machine converts float16 itself, its instructions are used; everywhere else the conversion
is integer arithmetic on the bit patterns, rounding to nearest, ties to even, NaN kept quiet.
Always from and to float32: going through float64 would round twice.
"""

from __future__ import annotations

from llvmlite import ir

from tensorop.jit.builder import Code, Value


def widen(code: Code, bits: Value, half: str) -> Value:
    """float32 from the bit patterns (i16) of a half type."""
    wide = _like(bits.type, ir.IntType(32))
    if half == "bfloat16":
        shifted = code.builder.shl(code.builder.zext(bits, wide), _splat(wide, 16))
        return code.builder.bitcast(shifted, _like(bits.type, ir.FloatType()))
    if code.target.half:
        value = code.builder.bitcast(bits, _like(bits.type, ir.HalfType()))
        return code.builder.fpext(value, _like(bits.type, ir.FloatType()))
    return _widen_float16(code, code.builder.zext(bits, wide))


def narrow(code: Code, value: Value, half: str) -> Value:
    """The bit patterns (i16) of float32 values rounded to a half type."""
    if half == "bfloat16":
        return _narrow_bfloat16(code, value)
    if code.target.half:
        rounded = code.builder.fptrunc(value, _like(value.type, ir.HalfType()))
        return code.builder.bitcast(rounded, _like(value.type, ir.IntType(16)))
    return _narrow_float16(code, value)


def _narrow_bfloat16(code: Code, value: Value) -> Value:
    b, wide = code.builder, _like(value.type, ir.IntType(32))
    bits = b.bitcast(value, wide)
    odd = b.and_(b.lshr(bits, _splat(wide, 16)), _splat(wide, 1))
    rounded = b.add(bits, b.add(odd, _splat(wide, 0x7FFF)))
    quiet = b.or_(bits, _splat(wide, 0x400000))
    nan = b.fcmp_unordered("uno", value, value)
    chosen = b.lshr(b.select(nan, quiet, rounded), _splat(wide, 16))
    return b.trunc(chosen, _like(value.type, ir.IntType(16)))


def _widen_float16(code: Code, bits: Value) -> Value:
    """Shift the exponent and mantissa into place and rescale by 2^112, which is exact, also for
    subnormals; infinities and NaN get the exponent put back."""
    b, wide = code.builder, bits.type
    float_ = _like(wide, ir.FloatType())
    sign = b.shl(b.and_(bits, _splat(wide, 0x8000)), _splat(wide, 16))
    magnitude = b.shl(b.and_(bits, _splat(wide, 0x7FFF)), _splat(wide, 13))
    scaled = b.fmul(b.bitcast(magnitude, float_), _splat(float_, 2.0**112))
    special = b.icmp_unsigned(">=", magnitude, _splat(wide, 0x7C00 << 13))
    infinite = b.or_(magnitude, _splat(wide, 0x7F800000))
    chosen = b.select(special, infinite, b.bitcast(scaled, wide))
    return b.bitcast(b.or_(chosen, sign), float_)


def _narrow_float16(code: Code, value: Value) -> Value:
    """Normal results round in integers; subnormal ones by adding 0.5, whose last place is the
    last place of a float16 subnormal, so that the hardware's addition rounds."""
    b, wide = code.builder, _like(value.type, ir.IntType(32))
    bits = b.bitcast(value, wide)
    sign = b.lshr(b.and_(bits, _splat(wide, 0x80000000)), _splat(wide, 16))
    magnitude = b.and_(bits, _splat(wide, 0x7FFFFFFF))
    odd = b.and_(b.lshr(magnitude, _splat(wide, 13)), _splat(wide, 1))
    rebiased = b.sub(magnitude, _splat(wide, 112 << 23))
    normal = b.lshr(b.add(rebiased, b.add(odd, _splat(wide, 0xFFF))), _splat(wide, 13))
    shifted = b.fadd(b.bitcast(magnitude, value.type), _splat(value.type, 0.5))
    subnormal = b.sub(b.bitcast(shifted, wide), _splat(wide, 0x3F000000))
    tiny = b.icmp_unsigned("<", magnitude, _splat(wide, 113 << 23))
    finite = b.select(tiny, subnormal, normal)
    huge = b.icmp_unsigned(">=", magnitude, _splat(wide, 143 << 23))
    nan = b.icmp_unsigned(">", magnitude, _splat(wide, 0x7F800000))
    infinite = b.select(nan, _splat(wide, 0x7E00), _splat(wide, 0x7C00))
    chosen = b.or_(b.select(huge, infinite, finite), sign)
    return b.trunc(chosen, _like(value.type, ir.IntType(16)))


def _like(shape: ir.Type, scalar: ir.Type) -> ir.Type:
    """`scalar`, in as many lanes as `shape` has."""
    return ir.VectorType(scalar, shape.count) if isinstance(shape, ir.VectorType) else scalar


def _splat(type_: ir.Type, value: float) -> ir.Constant:
    if isinstance(type_, ir.VectorType):
        return ir.Constant(type_, [ir.Constant(type_.element, value)] * type_.count)
    return ir.Constant(type_, value)
