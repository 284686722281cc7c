"""Writes the results of vector operations according to the pseudocode of AMD's manuals, which the package
tinygrad has: `oracle.py FILE`.

A line has the architecture, the operation, its modifiers (op_sel, op_sel_hi, neg_lo), its operands in the
order of the emulator's tables, the bits of the result and the bit of the mask, `-` where there is none. The
result is followed by `?` where it has a NaN that arithmetic makes. `# ARCHITECTURE OPERATION REASON` names an
operation without results.
"""

import importlib
import random
import re
import sys

from pseudocode import Architecture, Float, Machine, Parser, Unsupported

ARCHITECTURES = {"cdna": "gfx9", "rdna3": "gfx11", "rdna4": "gfx12"}
OPERANDS_OF_EACH = 160

FLOATS = {
    16: [0, 0x8000, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x0400, 0x0001, 0x83FF, 0x7C00, 0xFC00, 0x7E00, 0x7D01,
         0x3800, 0x4248, 0x3E00, 0x4100, 0xC300, 0x3BFF, 0x7800, 0x0801, 0xCC00],
    32: [0, 1 << 31, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x00800000, 1, 0x807FFFFF, 0x7F800000,
         0xFF800000, 0x7FC00000, 0x7F800123, 0xFFC54321, 0x3F000000, 0x40490FDB, 0x3FC00000, 0x40200000,
         0xC0600000, 0x3F7FFFFF, 0x4B000001, 0x4F000000, 0xCF000000, 0x4F800000, 0x477FF000, 0x2F800000,
         0x7E800001, 0x43800000, 0xC2FE8000, 0xC3158000],
    64: [0, 1 << 63, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF, 0x0010000000000000, 1,
         0x800FFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF0000000000123,
         0x3FE0000000000000, 0x400921FB54442D18, 0x4004000000000000, 0xC00C000000000000, 0x3FEFFFFFFFFFFFFF,
         0x41DFFFFFFFC00000, 0x41E0000000000000, 0xC1E0000020000000, 0x41EFFFFFFFE00000, 0x4340000000000001],
}
INTEGERS = {
    16: [0, 1, 2, 0xFFFF, 0x8000, 0x7FFF, 0x00FF, 0xFF00, 15, 16, 0x1234],
    32: [0, 1, 2, 3, 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFF, 0x10000, 31, 32, 0x800000, 0x7FFFFF, 0xFFFFFF,
         0x12345678, 0xDEADBEEF, 0x01010101, 0x80808080, 0xFFFFFFE0, 0x00FF00FF],
    64: [0, 1, 2, (1 << 64) - 1, 1 << 63, (1 << 63) - 1, 0xFFFFFFFF, 0x100000000, 63, 64, 0x123456789ABCDEF0],
}

# Corrections of the pseudocode, and why.
CORRECTIONS = [
    # It has two sources; the sum is the destination.
    ("V_FMAC_DX9_ZERO_F32", "D0.f32 = S2.f32", "D0.f32 = D0.f32"),
    # The factor undoes that of V_DIV_SCALE, which is 2 ** 64 or 2 ** -64.
    ("V_DIV_FMAS_F32", "2.0F ** 32", "2.0F ** (exponent(S2.f32) > 127 ? 64 : -64)"),
    ("V_DIV_FMAS_F64", "2.0 ** 64", "2.0 ** (exponent(S2.f64) > 1023 ? 128 : -128)"),
    # The reciprocal of a float is never a subnormal double.
    ("V_DIV_SCALE_F32", "1.0 / 64'F(S1.f32) == DENORM.f64", "1.0F / S1.f32 == DENORM.f32"),
]


def corrected(key, text):
    for start, wrong, right in CORRECTIONS:
        if key.startswith(start):
            text = text.replace(wrong, right)
    return text


def width_and_class(text, source):
    """The width of a source, and whether it is a float."""
    types = re.findall(rf"\b{source}(?:\[[^\]]*\])?(?:\.[a-z]+\d+)?(?:\[[^\]]*\])?\.([a-z]+)(\d+)", text)
    types += re.findall(rf"\b{source}\.([a-z]+)(\d+)", text)
    halves = re.search(rf"\b{source}\[31 : 16\]", text)
    wide = re.search(rf"\b{source}\[(63|55)", text)
    widest = max([int(width) for _, width in types] or [32])
    is_float = any(letter in ("f", "bf") for letter, _ in types)
    if wide:
        return 64, False, 32 if is_float else 0
    if halves:
        return 32, False, 16 if is_float else 0
    return {8: 32, 24: 32, 4: 32}.get(widest, widest), is_float, 0


def operand(generator, width, is_float, part):
    if part:
        count = width // part
        return sum(operand(generator, part, True, 0) << (part * at) for at in range(count))
    if generator.random() < 0.25:
        return generator.getrandbits(width)
    return generator.choice((FLOATS if is_float else INTEGERS)[width])


def results(architecture, key, text, packed):
    """The lines of an operation."""
    generator = random.Random(key)
    statements = Parser(text).block()
    mixes = "OPSEL_HI" in text
    sources = [f"S{at}" for at in range(4) if re.search(rf"\bS{at}\b", text)]
    if mixes:
        sources = ["S0", "S1", "S2"]
    constant = next((name for name in ("SIMM32", "SIMM16") if name in text), None)
    shapes = {name: width_and_class(text, name) for name in sources}
    if constant:
        shapes[constant] = (16 if "SIMM16" in text or f"{constant}.f16" in text else 32, True, 0)
    if mixes:
        shapes = {name: (32, True, 0) for name in sources}
    old = width_and_class(text, "D0")
    for _ in range(OPERANDS_OF_EACH):
        registers = {name: operand(generator, *shape) for name, shape in shapes.items()}
        if len(sources) > 1 and generator.random() < 0.1 and shapes[sources[0]] == shapes[sources[1]]:
            registers[sources[1]] = registers[sources[0]]
        if key.startswith("V_DIV_SCALE"):
            registers["S0"] = registers[generator.choice(("S1", "S2"))]
        registers["D0"] = registers["S0"] if key.startswith("V_DIV_SCALE") else operand(generator, *old)
        registers["VCC"] = generator.getrandbits(1)
        given = dict(registers)
        modifiers, written = {}, "0 7 0" if packed else "0 0 0"
        if packed:
            op_sel, op_sel_hi, negates = 0, 7, 0
            if mixes:
                op_sel, op_sel_hi = generator.getrandbits(3), generator.getrandbits(3)
                modifiers = {"S": [registers[name] for name in sources], "in": {}}
            if "NEG[" in text:
                negates = generator.getrandbits(2)
            modifiers.update(OPSEL=op_sel, OPSEL_HI=op_sel_hi, NEG=negates)
            written = f"{op_sel} {op_sel_hi} {negates}"
        else:
            modifiers = {"OPSEL": 0}
        machine = Machine(architecture, registers, modifiers)
        if key.startswith("V_DIV_SCALE"):
            machine.written.add("D0")
        machine.run(statements)
        result = None
        if "D0" in machine.written or machine.parts:
            value = machine.names["D0"]
            result = f"{value.bits if isinstance(value, Float) else value & ((1 << 64) - 1):x}"
            made = isinstance(value, Float) and value.made or machine.made
            result += "?" if made else ""
        if machine.mask is not None and "D0.u64[laneId]" in text:
            result = None
        operands = [given[name] for name in sources]
        if constant:
            operands.insert(1 if "FMAMK" in key or "MADMK" in key else 2, given[constant])
        if "VCC" in machine.reads:
            operands.append(given["VCC"])
        if machine.keeps_old() and not key.startswith("V_DIV_SCALE"):
            operands.append(given["D0"])
        mask = "-" if machine.mask is None else machine.mask
        yield f"{written} {','.join(f'{bits:x}' for bits in operands)} {result or '-'} {mask}"


def main():
    with open(sys.argv[1], "w") as out:
        for module, generation in ARCHITECTURES.items():
            table = importlib.import_module(f"tinygrad.runtime.autogen.amd.{module}.str_pcode").PCODE
            texts = {}
            for op, text in table.items():
                if type(op).__name__.startswith("VOP"):
                    texts.setdefault(op.name, (type(op).__name__, corrected(op.name, text)))
            architecture = Architecture({name: text for name, (_, text) in texts.items()})
            done = set()
            for key, (group, text) in texts.items():
                name = re.sub(r"_E(32|64)$", "", key).lower()
                if name in done:
                    continue
                done.add(name)
                try:
                    for line in results(architecture, key, text, group == "VOP3POp"):
                        print(f"{generation} {name} {line}", file=out)
                except (Unsupported, KeyError, TypeError, AttributeError) as error:
                    reason = f"{type(error).__name__} {error}".replace("\n", " ")
                    print(f"# {generation} {name} {reason}", file=out)


main()
