"""exp, tanh, the logistic sigmoid and gelu of real vectors: straight-line code, without tables.

float64 is right to within 2 ulp. float32 and the half types are computed in float64 with fewer
terms, and rounded to float32 once: to within 0.6 ulp of float32.

The argument of an exponential is reduced by a multiple of ln 2; what remains goes into a
polynomial. Where more digits are needed than a float64 has (sigmoid and gelu of float64, whose
factors' errors would add up), a value is a pair whose second part is the rounding error of the
first, from Dekker's error-free sums and products. Polynomials interpolate at Chebyshev's nodes.

- tanh(x) = x + x^3 P(x^2) below 1, else 1 - 2 / (exp(2 x) + 1).
- sigmoid(x) = 1 / (1 + exp(-x)), or exp(x) / (1 + exp(x)) below 0, where it is small.
- gelu(x) = x Phi(x), Phi the normal distribution (the form with erf, not that with tanh). Phi(-a) =
  exp(-a^2 / 2) W(s) / (1 + a), W a polynomial in s = (a - 4) / (a + 4), which is in [-1, 1]; a^2
  with its rounding error. Its limit for minus infinity is minus zero.

Sources: T. J. Dekker, "A Floating-Point Technique for Extending the Available Precision" (1971);
W. J. Cody, W. Waite, "Software Manual for the Elementary Functions" (1980); M. M. Shepherd,
J. G. Laframboise, "Chebyshev Approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", Math.
Comp. 36 (1981).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from llvmlite import ir

from tensorop.jit.arithmetic import Arithmetic, Number
from tensorop.jit.builder import Value
from tensorop.jit.elements import element
from tensorop.jit.instructions import Literal
from tensorop.jit.types import computed
from tensorop.tuples import NamedTuple

_F64, _BITS = ir.DoubleType(), ir.IntType(64)
_MAGIC = 1.5 * 2.0**52  # added, it rounds to integers, which are then its last bits
_LOG2_E = 1.4426950408889634
_LN2 = (float.fromhex("0x1.62e42feep-1"), 1.9082149292705877e-10)  # the first times 2^20 is exact
_SPLIT = 2.0**27 + 1  # cuts a float64 into two halves
_LEAST = {True: -750.0, False: -150.0}  # below, exp is zero; above _MOST it is infinite
_MOST = {True: 711.0, False: 130.0}

# Coefficients, the constant first; True: for float64, False: for what is rounded to float32.
# (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2
_EXP = {
    True: (
        0.5, 0.1666666666666667, 0.04166666666666667, 0.008333333333326136, 0.0013888888888883748,
        0.00019841269874820627, 2.4801587325547743e-05, 2.7557255400206422e-06,
        2.75572736431103e-07, 2.5105217004720745e-08, 2.0914686968086876e-09,
    ),
    False: (
        0.500000001346581, 0.16666666681623232, 0.041666464925285904, 0.0083333109254809,
        0.0013933649996309251, 0.00019890990824673654,
    ),
}  # fmt: skip
# (tanh(x) / x - 1) / z for z = x^2 in [0, 1]
_TANH = {
    True: (
        -0.3333333333333333, 0.1333333333333309, -0.05396825396804637, 0.02186948852912909,
        -0.008863235404578283, 0.003592126679366341, -0.0014558246920964941, 0.0005899792946300052,
        -0.00023895705228738225, 9.646277743313181e-05, -3.8389607893147334e-05,
        1.4606131676715378e-05, -4.987760317520347e-06, 1.3791814499083342e-06,
        -2.6330772232959337e-07, 2.5155023659382105e-08,
    ),
    False: (
        -0.3333333315672231, 0.133333106555451, -0.05396341475443884, 0.02182954884305937,
        -0.008697847592814879, 0.003206803386846565, -0.0009235008463481761, 0.00014279318799621565,
    ),
}  # fmt: skip
# (1 + a) exp(a^2 / 2) Phi(-a) for s = (a - 4) / (a + 4), a in [0, 40]
_GELU = {
    True: (
        0.47205320650984467, -0.09670347732652575, 0.013999634724424644, 0.028600364053543405,
        -0.03219783742804189, 0.017936097479934982, -0.0050023785920066755, -0.0002856231022908247,
        0.0006948971151771745, -9.443021368786957e-05, -8.785325026942807e-05,
        2.1249817348631183e-05, 1.3627120508991197e-05, -3.4313278898586758e-06,
        -2.613474358077429e-06, 4.023159185698272e-07, 5.526888726885186e-07,
        5.017314918544702e-09, -1.1119663003695587e-07, -2.3585016390667925e-08,
        1.7074179574235033e-08, 8.425453905074397e-09, -8.302534825756703e-10,
        -1.3547923942817101e-09, -2.621368395602489e-10,
    ),
    False: (
        0.47205320655028354, -0.09670347704923736, 0.013999631021360601, 0.028600346006480377,
        -0.032197785570131796, 0.017936369233436528, -0.005002594717629511, -0.00028723923600250975,
        0.0006949548387494351, -8.991107124303166e-05, -8.631828063512135e-05,
        1.5169106591684718e-05, 1.016311036605768e-05,
    ),
}  # fmt: skip
_GELU_MIDDLE, _GELU_END = 4.0, {True: 40.0, False: 16.0}


class _Power(NamedTuple):
    """An exponential: (1 + above + below) times two to the `exponent`, an integer as a float64."""

    above: Value
    below: Value
    exponent: Value


class _Doubles:
    """Vectors of float64. wide: results are float64, too."""

    def __init__(self, of: Arithmetic) -> None:
        self.wide = not isinstance(computed(of.element), ir.FloatType)
        self._of = Arithmetic(of.code, element("float64"), of.lanes)
        self.builder, self.type = of.builder, self._of.type
        self.add, self.sub = self.builder.fadd, self.builder.fsub
        self.mul, self.div = self.builder.fmul, self.builder.fdiv
        self.fused = of.code.target.fma

    def constant(self, value: float) -> Value:
        return self._of.constant(value)[0]

    def size(self, x: Value) -> Value:
        return self._of.math("fabs", x)

    def signed_as(self, x: Value, sign: Value) -> Value:
        return self._of.math("copysign", x, sign)

    def fma(self, a: Value, b: Value, c: Value) -> Value:
        return self._of.fma((a,), (b,), (c,))[0]

    def below(self, a: Value, b: Value) -> Value:
        return self.builder.fcmp_ordered("<", a, b)

    def least(self, x: Value, most: float) -> Value:
        """min(x, most); NaN stays NaN."""
        limit = self.constant(most)
        return self.builder.select(self.below(limit, x), limit, x)

    def polynomial(self, x: Value, coefficients: Sequence[float]) -> Value:
        *others, result = map(self.constant, coefficients)
        for coefficient in reversed(others):
            result = self.fma(result, x, coefficient)
        return result

    # error-free transformations

    def sum(self, a: Value, b: Value) -> tuple[Value, Value]:
        """a + b and its rounding error (Moeller and Knuth)."""
        total = self.add(a, b)
        part = self.sub(total, a)
        rest = self.sub(a, self.sub(total, part))
        return total, self.add(rest, self.sub(b, part))

    def product(self, a: Value, b: Value) -> tuple[Value, Value]:
        """a * b and its rounding error."""
        total = self.mul(a, b)
        if self.fused:
            return total, self.fma(a, b, self.builder.fneg(total))
        (x, y), (u, v) = self._halves(a), self._halves(b)
        error = self.sub(self.mul(x, u), total)
        error = self.add(self.add(error, self.mul(x, v)), self.mul(y, u))
        return total, self.add(error, self.mul(y, v))

    def _halves(self, a: Value) -> tuple[Value, Value]:
        """Dekker's split."""
        scaled = self.mul(a, self.constant(_SPLIT))
        high = self.sub(scaled, self.sub(scaled, a))
        return high, self.sub(a, high)

    def quotient(self, a: tuple[Value, Value], b: tuple[Value, Value]) -> tuple[Value, Value]:
        """Of two pairs."""
        inverse = self.div(self.constant(1), b[0])
        first = self.mul(a[0], inverse)
        total, error = self.product(first, b[0])
        left = self.add(self.sub(self.sub(a[0], total), error), a[1])
        left = self.sub(left, self.mul(first, b[1]))
        return first, self.mul(left, inverse)

    # exponentials

    def power(self, x: Value) -> _Power:
        """exp(x), of an argument for which the exponent is an integer of 11 bits."""
        magic = self.constant(_MAGIC)
        whole = self.add(self.mul(x, self.constant(_LOG2_E)), magic)
        exponent = self.sub(whole, magic)
        high = self.sub(x, self.mul(exponent, self.constant(_LN2[0])))
        low = self.mul(exponent, self.constant(_LN2[1]))
        rest = self.sub(high, low)
        error = self.sub(self.sub(high, rest), low)
        terms = self.polynomial(rest, _EXP[self.wide])
        return _Power(self.fma(self.mul(rest, rest), terms, rest), error, exponent)

    def scaled(self, x: Value, exponent: Value) -> Value:
        """x times two to a power; in two steps where that may be beyond the range of numbers."""
        if not self.wide:
            return self.mul(x, self._two_to(exponent))
        magic = self.constant(_MAGIC)
        half = self.sub(self.add(self.mul(exponent, self.constant(0.5)), magic), magic)
        for part in (half, self.sub(exponent, half)):
            x = self.mul(x, self._two_to(part))
        return x

    def _two_to(self, exponent: Value) -> Value:
        """Two to a power within the range of normal numbers."""
        bits, b = self._of.shaped(_BITS), self.builder
        number = b.bitcast(self.add(exponent, self.constant(_MAGIC + 1023)), bits)
        width = Literal(bits, f"splat (i64 {52})" if self._of.lanes > 1 else "52")
        return b.bitcast(b.shl(number, width), self.type)

    def value(self, power: _Power) -> Value:
        """An exponential as one number."""
        above = self.add(power.above, power.below) if self.wide else power.above
        return self.scaled(self.add(self.constant(1), above), power.exponent)

    def pair(self, power: _Power) -> tuple[Value, Value]:
        """1 + above + below as a number and its rounding error."""
        one = self.constant(1)
        total = self.add(one, power.above)
        return total, self.add(self.sub(power.above, self.sub(total, one)), power.below)


def exp(of: Arithmetic, a: Number) -> Number:
    """e to the power of a."""
    return _through_doubles(of, a, _exp)


def tanh(of: Arithmetic, a: Number) -> Number:
    """The hyperbolic tangent."""
    return _through_doubles(of, a, _tanh)


def sigmoid(of: Arithmetic, a: Number) -> Number:
    """1 / (1 + exp(-a))."""
    return _through_doubles(of, a, _sigmoid)


def gelu(of: Arithmetic, a: Number) -> Number:
    """a times the probability that a standard normal variable is below a."""
    return _through_doubles(of, a, _gelu)


def _through_doubles(
    of: Arithmetic, a: Number, function: Callable[[_Doubles, Value], Value]
) -> Number:
    doubles, b = _Doubles(of), of.builder
    return (b.fptrunc(function(doubles, b.fpext(a[0], doubles.type)), of.type),)


def _exp(d: _Doubles, x: Value) -> Value:
    least, x = d.constant(_LEAST[d.wide]), d.least(x, _MOST[d.wide])
    return d.value(d.power(d.builder.select(d.below(x, least), least, x)))


def _tanh(d: _Doubles, x: Value) -> Value:
    size, square, one = d.size(x), d.mul(x, x), d.constant(1)
    small = d.fma(d.mul(x, square), d.polynomial(square, _TANH[d.wide]), x)
    limited = d.least(size, 22)  # from where on it is 1
    grown = d.value(d.power(d.add(limited, limited)))
    large = d.sub(one, d.div(d.constant(2), d.add(grown, one)))
    return d.signed_as(d.builder.select(d.below(size, one), small, large), x)


def _sigmoid(d: _Doubles, x: Value) -> Value:
    one, zero, b = d.constant(1), d.constant(0), d.builder
    size = d.least(d.size(x), -_LEAST[d.wide])
    negative = d.below(x, zero)
    power = d.power(b.fneg(size))
    if not d.wide:
        small = d.value(power)
        return d.div(b.select(negative, small, one), d.add(one, small))
    first, second = (d.scaled(part, power.exponent) for part in d.pair(power))
    total, error = d.sum(one, first)
    above = b.select(negative, first, one), b.select(negative, second, zero)
    quotient, rest = d.quotient(above, (total, d.add(error, second)))
    return d.add(quotient, rest)


def _gelu(d: _Doubles, x: Value) -> Value:
    one, half, b = d.constant(1), d.constant(0.5), d.builder
    size = d.size(x)
    a, middle = d.least(size, _GELU_END[d.wide]), d.constant(_GELU_MIDDLE)
    place = d.div(d.sub(a, middle), d.add(a, middle))
    first, *others = _GELU[d.wide]
    start, moved = d.constant(first), d.mul(place, d.polynomial(place, others))
    factor = d.add(start, moved)
    square, lost = d.product(a, a)
    power = d.power(b.fneg(d.mul(half, square)))
    if not d.wide:
        tail = d.div(d.mul(d.mul(a, factor), d.value(power)), d.add(one, a))
        return _two_sides(d, x, size, tail)
    # a W / (1 + a) as a pair, times the exponential as a pair
    numerator, error = d.product(a, factor)
    error = d.fma(a, d.sub(moved, d.sub(factor, start)), error)
    ratio, rest = d.quotient((numerator, error), d.sum(one, a))
    grown, below = d.pair(power)
    below = d.sub(below, d.mul(d.mul(half, lost), grown))
    tail, error = d.product(ratio, grown)
    error = d.add(error, d.fma(ratio, below, d.mul(rest, grown)))
    return _two_sides(d, x, size, d.scaled(d.add(tail, error), power.exponent))


def _two_sides(d: _Doubles, x: Value, size: Value, tail: Value) -> Value:
    """-tail below 0, |x| - tail above, and zeros with their signs."""
    zero, b = d.constant(0), d.builder
    result = b.select(d.below(x, zero), b.fneg(tail), d.sub(size, tail))
    return b.select(b.fcmp_ordered("==", x, zero), x, result)
