"""Evaluates the pseudocode of AMD's manuals.

Integers are exact until they are stored or cast. Floats have the width of their type, and each operation
rounds to nearest. A NaN that arithmetic makes is marked, since the manuals do not say which one it is.
"""

import functools
import math
import re
import struct
from fractions import Fraction

# Bits of the exponent and of the significand behind the point.
FORMATS = {"bf8": (5, 2), "f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}


class Unsupported(Exception):
    """The pseudocode does something that no function of one lane does."""


class Float:
    """A float of some format, by its bits."""

    def __init__(self, kind, bits, made=False):
        self.kind, self.bits, self.made = kind, bits, made

    @property
    def exponent_bits(self):
        return FORMATS[self.kind][0]

    @property
    def digits(self):
        return FORMATS[self.kind][1]

    @property
    def width(self):
        return 1 + self.exponent_bits + self.digits

    @property
    def sign(self):
        return self.bits >> (self.width - 1)

    @property
    def biased(self):
        return self.bits >> self.digits & ((1 << self.exponent_bits) - 1)

    @property
    def rest(self):
        return self.bits & ((1 << self.digits) - 1)

    @property
    def bias(self):
        return (1 << (self.exponent_bits - 1)) - 1

    def is_nan(self):
        return self.biased == 2 * self.bias + 1 and self.rest != 0

    def is_infinite(self):
        return self.biased == 2 * self.bias + 1 and self.rest == 0

    def is_zero(self):
        return self.bits & ~(1 << (self.width - 1)) == 0

    def is_quiet(self):
        return self.is_nan() and self.rest >> (self.digits - 1) == 1

    def is_subnormal(self):
        return self.biased == 0 and self.rest != 0

    def exact(self):
        """The value of a finite one."""
        unit = Fraction(2) ** (max(self.biased, 1) - self.bias - self.digits)
        significand = self.rest | ((1 << self.digits) if self.biased else 0)
        return (-1 if self.sign else 1) * significand * unit


def nan(kind):
    exponent, digits = FORMATS[kind]
    return Float(kind, ((1 << exponent) - 1) << digits | 1 << (digits - 1), True)


def infinity(kind, sign=0):
    exponent, digits = FORMATS[kind]
    return Float(kind, sign << (exponent + digits) | ((1 << exponent) - 1) << digits)


def zero(kind, sign=0):
    return Float(kind, sign << sum(FORMATS[kind]))


def rounded(kind, value, sign=0, toward_zero=False):
    """A fraction, to nearest; the sign is that of a zero."""
    exponent_bits, digits = FORMATS[kind]
    bias = (1 << (exponent_bits - 1)) - 1
    if value == 0:
        return zero(kind, sign)
    sign, value = int(value < 0), abs(Fraction(value))
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    exponent = max(exponent, 1 - bias)
    scaled = value / Fraction(2) ** (exponent - digits)
    whole, part = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * part - scaled.denominator
    if not toward_zero and (twice > 0 or twice == 0 and whole & 1):
        whole += 1
    bits = (exponent + bias - 1 << digits) + whole if whole >> digits else whole
    if bits >= ((1 << exponent_bits) - 1) << digits:
        if toward_zero:
            bits = (((1 << exponent_bits) - 1) << digits) - 1
        else:
            return infinity(kind, sign)
    return Float(kind, sign << (exponent_bits + digits) | bits)


def converted(value, kind, toward_zero=False):
    """A float or an integer in another format."""
    if not isinstance(value, Float):
        return rounded(kind, value, 0, toward_zero)
    if value.kind == kind:
        return value
    if value.is_nan():
        result = nan(kind)
        shift = FORMATS[kind][1] - value.digits
        rest = value.rest << shift if shift >= 0 else value.rest >> -shift
        if rest == 0:
            rest = 1 << (FORMATS[kind][1] - 1)
        return Float(kind, value.sign << sum(FORMATS[kind]) | infinity(kind).bits | rest, value.made or result is None)
    if value.is_infinite():
        return infinity(kind, value.sign)
    return rounded(kind, value.exact(), value.sign, toward_zero)


def common(a, b):
    """Two operands, in the wider format of the two."""
    if isinstance(a, Float) and isinstance(b, Float):
        if a.kind == b.kind:
            return a, b
        kind = max(a.kind, b.kind, key=lambda kind: sum(FORMATS[kind]))
        return converted(a, kind), converted(b, kind)
    if isinstance(a, Float):
        return a, converted(b, a.kind)
    return converted(a, b.kind), b


def arithmetic(operator, a, b):
    a, b = common(a, b)
    kind = a.kind
    if a.is_nan() or b.is_nan():
        return nan(kind)
    if operator == "-":
        operator, b = "+", negated(b)
    if operator == "+":
        if a.is_infinite() or b.is_infinite():
            if a.is_infinite() and b.is_infinite() and a.sign != b.sign:
                return nan(kind)
            return a if a.is_infinite() else b
        return rounded(kind, a.exact() + b.exact(), a.sign & b.sign)
    sign = a.sign ^ b.sign
    if operator == "*":
        if a.is_infinite() or b.is_infinite():
            return nan(kind) if a.is_zero() or b.is_zero() else infinity(kind, sign)
        return rounded(kind, a.exact() * b.exact(), sign)
    if operator == "/":
        if a.is_infinite() and b.is_infinite() or a.is_zero() and b.is_zero():
            return nan(kind)
        if a.is_infinite() or b.is_zero():
            return infinity(kind, sign)
        if b.is_infinite():
            return zero(kind, sign)
        return rounded(kind, a.exact() / b.exact(), sign)
    raise Unsupported(operator)


def negated(value):
    if isinstance(value, Float):
        return Float(value.kind, value.bits ^ 1 << (value.width - 1), value.made)
    return -value


def fma(a, b, c):
    kind = a.kind
    if a.is_nan() or b.is_nan() or c.is_nan():
        return nan(kind)
    sign = a.sign ^ b.sign
    if a.is_infinite() or b.is_infinite():
        if a.is_zero() or b.is_zero() or c.is_infinite() and c.sign != sign:
            return nan(kind)
        return infinity(kind, sign)
    if c.is_infinite():
        return c
    return rounded(kind, a.exact() * b.exact() + c.exact(), sign & c.sign)


def compared(operator, a, b):
    if not isinstance(a, Float) and not isinstance(b, Float):
        return int({"==": a == b, "!=": a != b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])
    for x, y in ((a, b), (b, a)):
        if y == "DENORM":
            return int(x.is_subnormal())
    a, b = common(a, b)
    if a.is_nan() or b.is_nan():
        return int(operator == "!=")

    def key(value):
        if value.is_infinite():
            return (-1 if value.sign else 1, 0)
        return (0, value.exact())

    a, b = key(a), key(b)
    return int({"==": a == b, "!=": a != b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator])


def native(value):
    """As Python's float, for functions without a correctly rounded definition."""
    return struct.unpack("<d", struct.pack("<Q", converted(value, "f64").bits))[0]


def of_native(kind, value):
    if math.isnan(value):
        return nan(kind)
    if math.isinf(value):
        return infinity(kind, int(value < 0))
    return rounded(kind, Fraction(value), int(math.copysign(1, value) < 0))


def square_root(value):
    if value.is_nan() or value.is_zero():
        return nan(value.kind) if value.is_nan() else value
    if value.sign:
        return nan(value.kind)
    if value.is_infinite():
        return value
    exact = value.exact()
    scale = 1 << 1200
    root = math.isqrt(exact.numerator * scale * scale // exact.denominator)
    result = Fraction(root, scale)
    if result * result != exact:
        # More than half if it looks like half.
        result += Fraction(1, scale * 4)
    return rounded(value.kind, result)


def integral(value, way):
    if not isinstance(value, Float):
        return value
    if value.is_nan():
        return nan(value.kind)
    if value.is_infinite():
        return value
    return rounded(value.kind, way(value.exact()), value.sign)


def saturated(value, low, high, way=math.trunc):
    if value.is_nan():
        return 0
    if value.is_infinite():
        return low if value.sign else high
    return min(max(way(value.exact()), low), high)


def norm(value, low, high):
    """A fraction of an integer, to nearest."""
    if value.is_nan():
        return 0
    if value.is_infinite():
        return low if value.sign else high
    return round(min(max(value.exact(), Fraction(-1 if low else 0)), 1) * high)


TOKEN = re.compile(
    r"\s*(//[^\n]*|\d+'-?(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)[A-Z]*|\d+'[A-Z]+|0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+\.\d+F?|\d+(?:ULL|LL|U|F)?"
    r"|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\*\*|\+=|-=|[-+*/%&|^~!<>=?:;,.(){}\[\]])"
)


def tokens_of(text):
    found, at = [], 0
    text = text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if not match:
            raise Unsupported(text[at : at + 20])
        at = match.end()
        if not match[1].startswith("//"):
            found.append(match[1])
    return found


PRECEDENCE = [["||"], ["&&"], ["|"], ["^"], ["&"], ["==", "!=", "<>"], ["<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "%"]]


class Parser:
    """Makes a tree of a pseudocode's text."""

    def __init__(self, text):
        self.tokens, self.at = tokens_of(text), 0

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else None

    def take(self, expected=None):
        token = self.peek()
        if expected is not None and token != expected:
            raise Unsupported(f"{token} instead of {expected}")
        self.at += 1
        return token

    def block(self, *ends):
        statements = []
        while self.peek() is not None and self.peek() not in ends:
            if self.peek() == ";":
                self.take()
                continue
            statements.append(self.statement())
        return statements

    def statement(self):
        token = self.peek()
        if token == "if":
            return self.condition()
        if token == "for":
            self.take()
            name = self.take()
            self.take("in")
            first = self.expression()
            self.take(":")
            last = self.expression()
            self.take("do")
            body = self.block("endfor")
            self.take("endfor")
            return ("for", name, first, last, body)
        if token == "declare":
            self.take()
            name = self.take()
            self.take(":")
            self.take()
            count = None
            if self.peek() == "[":
                self.take()
                count = self.expression()
                self.take("]")
            return ("declare", name, count)
        if token == "break":
            self.take()
            return ("break",)
        if token == "return":
            self.take()
            return ("return", self.expression())
        if self.peek(1) == "=" and self.peek(2) == "lambda":
            name = self.take()
            self.take("=")
            self.take("lambda")
            self.take("(")
            parameters = []
            while self.peek() != ")":
                parameters.append(self.take())
                if self.peek() == ",":
                    self.take()
            self.take(")")
            self.take("(")
            if self.peek() in ("if", "declare"):
                body = self.block(")")
            else:
                body = [("return", self.expression())]
                if self.peek() == ";":
                    self.take()
            self.take(")")
            return ("lambda", name, parameters, body)
        target = self.postfix()
        operator = self.take()
        if operator not in ("=", "+=", "-="):
            raise Unsupported(operator)
        value = self.expression()
        if self.peek() == "=":
            # Comparisons write two masks.
            self.take()
            value = self.expression()
        if operator != "=":
            value = ("binary", operator[0], target, value)
        return ("assign", target, value)

    def condition(self):
        self.take()
        condition = self.expression()
        self.take("then")
        body = self.block("elsif", "else", "endif")
        if self.peek() == "elsif":
            return ("if", condition, body, [self.condition()])
        other = []
        if self.peek() == "else":
            self.take()
            other = self.block("endif")
        self.take("endif")
        return ("if", condition, body, other)

    def expression(self):
        condition = self.binary(0)
        if self.peek() == "?":
            self.take()
            yes = self.expression()
            self.take(":")
            return ("choose", condition, yes, self.expression())
        return condition

    def binary(self, level):
        if level == len(PRECEDENCE):
            return self.power()
        left = self.binary(level + 1)
        while self.peek() in PRECEDENCE[level]:
            operator = self.take()
            left = ("binary", operator, left, self.binary(level + 1))
        return left

    def power(self):
        left = self.unary()
        if self.peek() == "**":
            self.take()
            return ("binary", "**", left, self.unary())
        return left

    def unary(self):
        if self.peek() in ("-", "+", "~", "!"):
            return ("unary", self.take(), self.unary())
        return self.postfix()

    def postfix(self):
        value = self.primary()
        while self.peek() in (".", "["):
            if self.take() == ".":
                value = ("type", value, self.take())
                continue
            first = self.expression()
            if self.peek() == ":":
                self.take()
                value = ("slice", value, first, self.expression())
            else:
                value = ("index", value, first)
            self.take("]")
        return value

    def arguments(self):
        self.take("(")
        arguments = []
        while self.peek() != ")":
            arguments.append(self.expression())
            if self.peek() == ",":
                self.take()
        self.take(")")
        return arguments

    def primary(self):
        token = self.take()
        if token == "(":
            value = self.expression()
            self.take(")")
            return value
        if token == "{":
            parts = [self.expression()]
            while self.peek() == ",":
                self.take()
                parts.append(self.expression())
            self.take("}")
            return ("concatenate", parts)
        if match := re.fullmatch(r"(\d+)'(-?)(0x[0-9a-fA-F]+|\d+\.\d+|\d+)([A-Z]*)", token):
            if "." in match[3]:
                value = rounded("f" + match[1], Fraction(match[3]))
                return ("literal", negated(value) if match[2] else value)
            return ("literal", int(match[3], 0), int(match[1]))
        if match := re.fullmatch(r"(\d+)'([A-Z]+)", token):
            arguments = self.arguments()
            return ("cast", int(match[1]), match[2], arguments[0])
        if re.fullmatch(r"0x[0-9a-fA-F]+(?:ULL|LL|U)?|\d+(?:ULL|LL|U)?", token):
            return ("literal", int(token.rstrip("UL"), 0))
        if re.fullmatch(r"\d+\.\d+F?|\d+F", token):
            return ("literal", rounded("f32" if token.endswith("F") else "f64", Fraction(token.rstrip("F"))))
        if not re.fullmatch(r"[A-Za-z_]\w*", token or ""):
            raise Unsupported(str(token))
        if self.peek() == "(":
            return ("call", token, self.arguments())
        return ("name", token)


class Break(Exception):
    pass


class Return(Exception):
    pass


WIDTHS = {"B": "b", "U": "u", "I": "i", "F": "f", "BF": "bf"}


def typed(value, name):
    """A value of a type, from bits or from a value of another type."""
    if name == "fp8":
        # Without infinities, and with one magnitude that is a NaN.
        if value & 0x7F == 0x7F:
            return nan("f32")
        exponent, rest = value >> 3 & 15, value & 7
        magnitude = Fraction(rest | (8 if exponent else 0)) * Fraction(2) ** (max(exponent, 1) - 10)
        return rounded("f32", -magnitude if value & 0x80 else magnitude, value >> 7 & 1)
    match = re.fullmatch(r"(bf|f|u|i|b)(\d+)", name)
    if not match:
        raise Unsupported(name)
    letter, width = match[1], int(match[2])
    if letter in ("f", "bf"):
        if isinstance(value, Float):
            return converted(value, name)
        return Float(name, value & ((1 << width) - 1))
    bits = value.bits if isinstance(value, Float) else value
    bits &= (1 << width) - 1
    if letter == "i" and bits >> (width - 1):
        bits -= 1 << width
    return bits


def width_of(node):
    """The width of a part of a concatenation."""
    if node[0] == "type":
        return int(re.sub(r"\D", "", node[2]))
    if node[0] == "slice":
        return abs(node[2][1] - node[3][1]) + 1
    if node[0] == "index":
        return 1
    if node[0] == "literal":
        return node[2]
    if node[0] == "unary":
        return width_of(node[2])
    if node[0] == "call":
        return 8 if node[1].endswith("8") else 32
    raise Unsupported(f"width of {node}")


class Machine:
    """The state that a pseudocode sees, and its functions."""

    def __init__(self, architecture, registers, modifiers=None):
        self.architecture = architecture
        self.names = dict(registers)
        self.names.update(WAVE_MODE=None, PI=math.pi, laneId=0)
        self.names.update(modifiers or {})
        self.lambdas = {}
        self.reads, self.written = set(), set()
        # The bits of D0 that are written in parts.
        self.parts = 0
        self.mask = None
        self.toward_zero = False
        self.made = False

    def run(self, statements):
        for statement in statements:
            self.perform(statement)

    def note(self, value):
        """Remembers that a part of the result is a NaN that arithmetic made."""
        self.made = self.made or isinstance(value, Float) and value.made

    def keeps_old(self):
        """Whether the old value of the destination is an operand."""
        return "D0" in self.reads or self.parts not in (0, (1 << 32) - 1, (1 << 64) - 1) and "D0" not in self.written

    def perform(self, statement):
        what = statement[0]
        if what == "if":
            self.run(statement[2] if self.value(statement[1]) else statement[3])
        elif what == "for":
            for number in range(self.value(statement[2]), self.value(statement[3]) + 1):
                self.names[statement[1]] = number
                try:
                    self.run(statement[4])
                except Break:
                    break
        elif what == "declare":
            if statement[1] != "S":
                self.names[statement[1]] = {} if statement[2] else 0
        elif what == "break":
            raise Break
        elif what == "return":
            raise Return(self.value(statement[1]))
        elif what == "lambda":
            self.lambdas[statement[1]] = statement[2:]
        else:
            self.assign(statement[1], self.value(statement[2]))

    def assign(self, target, value):
        what = target[0]
        if what == "concatenate":
            for part in reversed(target[1]):
                width = width_of(part)
                self.assign(part, value & ((1 << width) - 1))
                value >>= width
            return
        text = str(target)
        if "VGPR" in text or "MEM" in text:
            raise Unsupported("registers by number")
        if "TRAPSTS" in text:
            return
        if text == str(("name", "ROUND_MODE")):
            self.toward_zero = value == "ROUND_TOWARD_ZERO"
            return
        if what == "name" and target[1] == "prev_mode":
            return
        base = target
        while base[0] in ("type", "slice", "index"):
            base = base[1]
        name = base[1]
        if name in ("VCC", "EXEC", "D1"):
            self.mask = value & 1
            return
        if what == "index" and isinstance(self.names.get(name), dict):
            self.names[name][self.value(target[2])] = value
            return
        if what == "name":
            self.written.add(name)
            self.names[name] = value
            return
        # Of a register a part, or all of it with a type.
        kind = None
        if what == "type":
            kind, inner = target[2], target[1]
        else:
            inner = target
        if inner[0] == "type":
            inner = inner[1]
        if inner[0] == "name":
            if name == "D0" and str(target).find("u64', ('laneId") >= 0:
                self.mask = value & 1
            self.written.add(name)
            self.names[name] = typed(value, kind)
            return
        if inner[0] == "index":
            position = self.value(inner[2])
            if name == "D0" and inner[2] == ("name", "laneId"):
                self.mask = value & 1
                return
            high = low = position
        else:
            high, low = self.value(inner[2]), self.value(inner[3])
        width = abs(high - low) + 1
        if name == "D0":
            self.parts |= ((1 << width) - 1) << min(high, low)
        old = self.names.get(name, 0)
        if name in self.written:
            self.note(old)
        old = old.bits if isinstance(old, Float) else (old or 0)
        bits = typed(value, kind) if kind else value
        bits = (bits.bits if isinstance(bits, Float) else bits) & ((1 << width) - 1)
        self.note(value)
        low = min(high, low)
        self.names[name] = old & ~(((1 << width) - 1) << low) | bits << low

    def value(self, node):
        what = node[0]
        if what == "literal":
            return node[1]
        if what == "name":
            return self.name(node[1])
        if what == "choose":
            return self.value(node[2] if self.value(node[1]) else node[3])
        if what == "type":
            return self.typed(node)
        if what == "slice":
            return self.slice(node)
        if what == "index":
            return self.index(node)
        if what == "cast":
            return self.cast(node)
        if what == "unary":
            return self.unary(node)
        if what == "binary":
            return self.binary(node)
        if what == "concatenate":
            result = 0
            for part in node[1]:
                bits = self.value(part)
                self.note(bits)
                bits = bits.bits if isinstance(bits, Float) else bits
                width = width_of(part)
                result = result << width | bits & ((1 << width) - 1)
            return result
        return self.call(node[1], node[2])

    def name(self, name):
        if name in ("prev_mode", "ROUND_MODE", "ROUND_TOWARD_ZERO", "ROUND_NEAREST_EVEN"):
            return name
        if name in self.names:
            if name == "D0" and name not in self.written and not self.parts:
                self.reads.add(name)
            elif name in ("VCC", "SIMM32", "SIMM16"):
                self.reads.add(name)
            return self.names[name]
        limits = {"INF": infinity("f64"), "MAX_FLOAT_F32": Float("f32", 0x7F7FFFFF), "NAN": nan("f64")}
        # As divisions to nearest have them.
        limits.update(UNDERFLOW_F32=zero("f32"), UNDERFLOW_F64=zero("f64"), OVERFLOW_F32=infinity("f32"), OVERFLOW_F64=infinity("f64"))
        if name in limits:
            return limits[name]
        raise Unsupported(name)

    def typed(self, node):
        if node[1] == ("name", "DENORM"):
            return "DENORM"
        if node == ("type", ("name", "WAVE_MODE"), "IEEE"):
            return 1
        if node[1][0] == "name" and node[1][1] == "VCC":
            self.reads.add("VCC")
            return self.names["VCC"]
        return typed(self.value(node[1]), node[2])

    def slice(self, node):
        value = self.value(node[1])
        value = value.bits if isinstance(value, Float) else value
        high, low = self.value(node[2]), self.value(node[3])
        width = abs(high - low) + 1
        bits = value >> min(high, low) & ((1 << width) - 1)
        return bits if high >= low else int(f"{bits:0{width}b}"[::-1], 2)

    def index(self, node):
        if node[1] == ("type", ("name", "VCC"), "u64"):
            self.reads.add("VCC")
            return self.names["VCC"]
        value = self.value(node[1])
        position = self.value(node[2])
        if isinstance(value, (dict, list)):
            return value[position]
        value = value.bits if isinstance(value, Float) else value
        return value >> position & 1

    def cast(self, node):
        _, width, letter, argument = node
        value = self.value(argument)
        if isinstance(value, tuple):
            return value
        if letter in ("F", "BF"):
            kind = f"{WIDTHS[letter]}{width}"
            if isinstance(value, float):
                return of_native(kind, value)
            if not isinstance(value, Float) and argument[0] in ("literal", "concatenate"):
                return Float(kind, value)
            return converted(value, kind)
        if isinstance(value, Float):
            raise Unsupported("float as an integer")
        return typed(value, f"{WIDTHS[letter]}{width}")

    def unary(self, node):
        value = self.value(node[2])
        if node[1] == "-":
            return negated(value)
        if node[1] == "~":
            return ~value
        if node[1] == "!":
            return int(not value)
        return value

    def binary(self, node):
        operator = node[1]
        if operator == "&&":
            return int(bool(self.value(node[2])) and bool(self.value(node[3])))
        if operator == "||":
            return int(bool(self.value(node[2])) or bool(self.value(node[3])))
        a, b = self.value(node[2]), self.value(node[3])
        if operator in ("==", "!=", "<>", "<", "<=", ">", ">="):
            return compared(operator, a, b)
        if operator == "**":
            exponent = b
            # Exact, whatever the exponent.
            return ("power", a.kind, exponent)
        if isinstance(a, tuple) or isinstance(b, tuple):
            return self.scaled(a, b)
        if isinstance(a, float) or isinstance(b, float):
            if isinstance(a, float):
                return a * native(b)
            return a
        if isinstance(a, Float) or isinstance(b, Float):
            return arithmetic(operator, a, b)
        return {
            "|": lambda: a | b,
            "^": lambda: a ^ b,
            "&": lambda: a & b,
            "<<": lambda: a << b,
            ">>": lambda: a >> b,
            "+": lambda: a + b,
            "-": lambda: a - b,
            "*": lambda: a * b,
        }[operator]()

    def scaled(self, a, b):
        """A float times a power of two."""
        value, power = (a, b) if isinstance(b, tuple) else (b, a)
        return scale(value, power[2])

    def call(self, name, nodes):
        if name in ("sin", "cos"):
            # The operand is a number of turns times 2 π, which has no exact value.
            turns = self.value(nodes[0][2])
            return trigonometric(name, turns)
        arguments = [self.value(node) for node in nodes]
        if name in self.lambdas:
            parameters, body = self.lambdas[name]
            saved = dict(self.names)
            self.names.update(zip(parameters, arguments))
            try:
                self.run(body)
            except Return as result:
                return result.args[0]
            finally:
                self.names = saved
        if name.startswith("v_"):
            return self.operation(name, arguments)
        return function(self, name, arguments)

    def operation(self, name, arguments):
        if name in ("v_cvt_i16_f32", "v_cvt_u16_f32"):
            return function(self, name.replace("v_cvt_", "f32_to_").removesuffix("_f32"), arguments)
        kind = name.rsplit("_", 1)[1]
        sources = {}
        for number, argument in enumerate(arguments):
            sources[f"S{number}"] = argument.bits if isinstance(argument, Float) else argument & ((1 << 64) - 1)
        machine = Machine(self.architecture, sources)
        machine.run(self.architecture.statements(name))
        kind = "u32" if kind == "u8" else kind
        return typed(machine.names["D0"], kind)


def scale(value, exponent):
    if value.is_nan():
        return nan(value.kind)
    if value.is_infinite() or value.is_zero():
        return value
    exponent = max(min(exponent, 5000), -5000)
    return rounded(value.kind, value.exact() * Fraction(2) ** exponent, value.sign)


def trigonometric(name, turns):
    if turns.is_nan() or turns.is_infinite():
        return nan(turns.kind)
    rest = turns.exact() - round(turns.exact())
    if name == "cos":
        quarter = Fraction(1, 4) - abs(rest)
    else:
        quarter = rest if abs(rest) <= Fraction(1, 4) else (Fraction(1, 2) if rest > 0 else Fraction(-1, 2)) - rest
    if quarter == 0:
        return zero(turns.kind, turns.sign if name == "sin" else 0)
    return of_native(turns.kind, math.sin(float(quarter) * 2 * math.pi))


def function(machine, name, arguments):
    first = arguments[0]
    kind = getattr(first, "kind", None)
    if match := re.fullmatch(r"(\w+?)_to_(\w+)", name):
        return conversion(machine, match[2], first)
    if name in ("floor", "trunc"):
        return integral(first, {"floor": math.floor, "trunc": math.trunc}[name])
    if name == "fract":
        return arithmetic("-", first, integral(first, math.floor))
    if name == "abs":
        return Float(kind, first.bits & ~(1 << (first.width - 1)), first.made)
    if name == "sign":
        return first.sign
    if name == "exponent":
        return first.biased
    if name == "mantissa":
        if first.is_zero():
            return first
        value = first.exact()
        while abs(value) < Fraction(1, 2):
            value *= 2
        while abs(value) >= 1:
            value /= 2
        return rounded(kind, value)
    if name == "isNAN":
        return int(first.is_nan())
    if name == "isQuietNAN":
        return int(first.is_quiet())
    if name == "isSignalNAN":
        return int(first.is_nan() and not first.is_quiet())
    if name == "cvtToQuietNAN":
        return Float(kind, first.bits | 1 << (first.digits - 1))
    if name == "isEven":
        return int(not first.is_nan() and not first.is_infinite() and first.exact() % 2 == 0)
    if name == "ldexp":
        return scale(first, arguments[1])
    if name == "fma":
        return fma(*arguments)
    if name == "sqrt":
        return square_root(first)
    if name == "pow":
        return power_of_two(arguments[1])
    if name == "log2":
        return logarithm(first)
    if name == "signext":
        return first
    if name == "signext_from_bit":
        width = arguments[1]
        bits = first & ((1 << width) - 1)
        return bits - (1 << width) if width and bits >> (width - 1) else bits
    raise Unsupported(name)


def power_of_two(value):
    if value.is_nan():
        return nan(value.kind)
    if value.is_infinite():
        return zero(value.kind) if value.sign else value
    exact = min(max(value.exact(), -5000), 5000)
    whole = math.floor(exact)
    part = Fraction(2.0 ** float(exact - whole))
    return rounded(value.kind, part * Fraction(2) ** whole)


def logarithm(value):
    if value.is_nan() or value.sign and not value.is_zero():
        return nan(value.kind)
    if value.is_zero() or value.is_infinite():
        return infinity(value.kind, int(value.is_zero()))
    return of_native(value.kind, math.log2(native(value)))


def conversion(machine, to, value):
    if to in ("snorm", "unorm"):
        return norm(value, -32767, 32767) if to == "snorm" else norm(value, 0, 65535)
    if re.fullmatch(r"b?f(16|32|64)", to):
        return converted(value, to, machine.toward_zero)
    match = re.fullmatch(r"([ui])(\d+)", to)
    if not match:
        raise Unsupported(to)
    width = int(match[2])
    low, high = (0, (1 << width) - 1) if match[1] == "u" else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
    if isinstance(value, Float):
        return saturated(value, low, high, round if width == 8 else math.trunc)
    return min(max(value, low), high)


class Architecture:
    """The pseudocode of an architecture's operations."""

    def __init__(self, texts):
        self.texts = texts

    @functools.lru_cache(maxsize=None)
    def statements(self, name):
        for key in (name.upper(), f"{name.upper()}_E32", f"{name.upper()}_E64"):
            if key in self.texts:
                return Parser(self.texts[key]).block()
        raise Unsupported(name)
