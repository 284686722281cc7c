//! The syntax tree of a text.

use super::types::Type;

/// One PTX object.
#[derive(Debug)]
pub(crate) struct Text<'a> {
    /// The architecture that it is for: 70 for `sm_70`.
    pub(crate) target: u32,
    pub(crate) variables: Vec<Variable<'a>>,
    pub(crate) functions: Vec<Function<'a>>,
    /// Second names of functions.
    pub(crate) aliases: Vec<(&'a str, &'a str)>,
    /// Names of source files, by the numbers that `.loc` gives them.
    pub(crate) files: Vec<(u64, &'a str)>,
}

/// The linkage of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    Static,
    Visible,
    Weak,
    Common,
    Extern,
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Reg,
    Global,
    Const,
    Shared,
    Local,
    Param,
}

/// A variable of any space, or a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub(crate) name: &'a str,
    pub(crate) space: Space,
    pub(crate) linkage: Linkage,
    pub(crate) ty: Type,
    /// Bytes of one element: of a vector type, all of it.
    pub(crate) element: u32,
    /// Elements in all; `None` where the size is left open.
    pub(crate) count: Option<u64>,
    pub(crate) align: u32,
    pub(crate) init: Vec<Init<'a>>,
    pub(crate) line: u32,
}

impl Variable<'_> {
    /// Its size, as far as it is known.
    pub(crate) fn bytes(&self) -> u64 {
        self.count.unwrap_or(0) * u64::from(self.element)
    }
}

/// One element of an initialiser.
#[derive(Clone, Debug)]
pub(crate) enum Init<'a> {
    /// Bits of an element.
    Bits(u64),
    /// The address of a symbol plus a number; as many of its bits as the mask has
    /// (`0xff00(symbol)`), moved down.
    Address {
        symbol: &'a str,
        addend: i64,
        mask: u64,
        line: u32,
    },
}

/// A function or a kernel.
#[derive(Debug)]
pub(crate) struct Function<'a> {
    pub(crate) name: &'a str,
    pub(crate) linkage: Linkage,
    pub(crate) is_kernel: bool,
    pub(crate) results: Vec<Variable<'a>>,
    pub(crate) params: Vec<Variable<'a>>,
    /// The block that a launch must have.
    pub(crate) reqntid: Option<[u32; 3]>,
    /// The block that has the most threads a launch may have.
    pub(crate) maxntid: Option<[u32; 3]>,
    /// Whether launches have clusters even if they do not ask for them.
    pub(crate) has_clusters: bool,
    /// `None` for a declaration.
    pub(crate) body: Option<Vec<Statement<'a>>>,
    pub(crate) line: u32,
}

#[derive(Debug)]
pub(crate) struct Statement<'a> {
    pub(crate) line: u32,
    /// File and line of the source, from `.loc`.
    pub(crate) source: Option<(u64, u64)>,
    pub(crate) kind: StatementKind<'a>,
}

#[derive(Debug)]
pub(crate) enum StatementKind<'a> {
    /// Registers `name` or, with a count, `name0` to `nameN-1`; of vector types as many
    /// elements each, which are called `name.x` and so on.
    Registers {
        ty: Type,
        vector: u32,
        names: Vec<(&'a str, Option<u32>)>,
    },
    Variable(Variable<'a>),
    /// Parameters for calls, `name0` to `nameN-1`.
    Parameters {
        like: Variable<'a>,
        count: u32,
    },
    Label(&'a str),
    /// The possible targets of an indexed branch.
    Targets {
        name: &'a str,
        labels: Vec<&'a str>,
    },
    /// The prototype of a function that is called by its address.
    Prototype {
        name: &'a str,
        results: Vec<Variable<'a>>,
        params: Vec<Variable<'a>>,
    },
    Open,
    Close,
    Instruction(Instruction<'a>),
}

#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    /// The predicate, and whether it is negated.
    pub(crate) guard: Option<(&'a str, bool)>,
    /// Opcode and modifiers, as written.
    pub(crate) opcode: &'a str,
    pub(crate) operands: Vec<Operand<'a>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, a special one, a symbol, a label; `_` is one too.
    Name(&'a str),
    /// `!p`
    Not(&'a str),
    Int(u64),
    Single(u32),
    Double(u64),
    /// `symbol+4`
    Sum(&'a str, i64),
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// `[base+4]`; without a base a bare address.
    Address(Option<&'a str>, i64),
    /// `[tensor, {x, y}]`: no supported instruction takes it.
    Coordinates,
    /// `a|b`
    Pair(Box<Operand<'a>>, Box<Operand<'a>>),
    /// `(a, b)`
    List(Vec<Operand<'a>>),
}
