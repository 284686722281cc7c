//! The errors of texts.

/// The error of a line that is invalid or not supported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextError {
    /// Something else is there.
    #[error("{0} expected")]
    Expected(&'static str),
    /// Something else is there, which the error names.
    #[error("{expected} expected, found {found}")]
    Found {
        /// The expected part.
        expected: String,
        /// The part that is there.
        found: String,
    },
    /// An instruction that this device does not have.
    #[error("{0} are not supported")]
    Unsupported(&'static str),
    /// A kernel requires clusters of several blocks.
    #[error("clusters of {0:?} blocks; this device has clusters of one block")]
    Cluster([u32; 3]),
    /// A part of an instruction or a declaration is not there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// The text breaks this rule of the ISA.
    #[error("{0}")]
    Rule(&'static str),
    /// A name, directive or modifier is invalid here.
    #[error("`{name}` {problem}")]
    Name {
        /// The name.
        name: String,
        /// The reason.
        problem: &'static str,
    },
    /// A modifier is unknown.
    #[error("modifier `.{0}` is not known here")]
    Modifier(String),
    /// Conversions of this type are unknown.
    #[error("conversions with `.{0}` are not known")]
    Conversion(String),
    /// The error of an instruction.
    #[error("`{opcode}`: {error}")]
    Instruction {
        /// The instruction with its modifiers.
        opcode: String,
        /// The error.
        error: Box<Self>,
    },
    /// A label is defined twice.
    #[error("label `{0}` is there twice")]
    LabelTwice(String),
    /// A label is not defined.
    #[error("there is no label `{0}`")]
    NoLabel(String),
    /// A number exceeds a limit.
    #[error("{count} {what} are too many")]
    TooMany {
        /// The number.
        count: u64,
        /// The plural noun for the counted items.
        what: &'static str,
    },
    /// Brackets within each other exceed this limit.
    #[error("more than {0} brackets within each other")]
    Nesting(u32),
    /// An offset exceeds the address space.
    #[error("offset {0} is too large")]
    Offset(i64),
    /// A load names a space from which it cannot load.
    #[error("it does not load from `.{0}`")]
    LoadSpace(String),
    /// The destination has another width than the result.
    #[error("the result has {bits} bits, its register {register}")]
    ResultWidth {
        /// Bits of the result.
        bits: u32,
        /// Bits of the destination.
        register: u32,
    },
    /// A register is too narrow.
    #[error("a register of {register} bits for {bits}")]
    RegisterWidth {
        /// Bits of the register.
        register: u32,
        /// Bits of the value.
        bits: u32,
    },
    /// A source has another width than the instruction.
    #[error("`{name}` has {bits} bits where {expected} are expected")]
    SourceWidth {
        /// The register.
        name: String,
        /// Bits of the register.
        bits: u32,
        /// Bits of the instruction.
        expected: u32,
    },
    /// A vector has another width than the instruction.
    #[error("`{name}` has other than {bits} bits")]
    VectorWidth {
        /// The vector.
        name: String,
        /// Bits of the instruction.
        bits: u32,
    },
    /// A value cannot be divided into these parts.
    #[error("{bits} bits have no {count} parts here")]
    Parts {
        /// Bits of the value.
        bits: u32,
        /// The number of parts.
        count: usize,
    },
    /// A variable has too many initial values.
    #[error("`{name}` has {given} values for {room} elements")]
    Values {
        /// The variable.
        name: String,
        /// The number of values.
        given: u64,
        /// The number of elements.
        room: u64,
    },
    /// A call does not match the function's signature. Sizes are in bytes.
    #[error(
        "called with parameters of {passed:?} bytes and results of {returned:?}, but it takes \
         {params:?} and returns {returns:?}"
    )]
    Signature {
        /// Sizes of the arguments.
        passed: Vec<u32>,
        /// Sizes of the results that the call stores.
        returned: Vec<u32>,
        /// Sizes of the function's parameters.
        params: Vec<u32>,
        /// Sizes of the function's results.
        returns: Vec<u32>,
    },
    /// An argument of this many bytes is not in the space `.param`.
    #[error("{0} bytes are passed in the space .param alone")]
    PassedInParam(u32),
    /// A predicate is passed to a function.
    #[error("`{0}`: predicates cannot be passed")]
    PredicatePassed(String),
    /// A name is defined in two parts of a module.
    #[error("`{name}` is defined in {other}, too")]
    DefinedTwice {
        /// The name.
        name: String,
        /// The other part.
        other: String,
    },
    /// The function that an alias names is not defined.
    #[error("`{name}` is an alias of `{of}`, which is not defined")]
    Alias {
        /// The alias.
        name: String,
        /// The function.
        of: String,
    },
    /// No shared memory is left for this variable.
    #[error("`{0}`: shared memory is used up")]
    SharedFull(String),
    /// This variable in shared memory has initial values.
    #[error("`{0}`: shared memory has no initial values")]
    SharedValues(String),
}

impl TextError {
    /// The error about `name`, which `problem` describes.
    pub(crate) fn name(name: impl ToString, problem: &'static str) -> Self {
        let name = name.to_string();
        Self::Name { name, problem }
    }
}

/// The error of a text, with its line, from 1.
pub(crate) type AtLine = (u32, TextError);
