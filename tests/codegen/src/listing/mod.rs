//! The functions of an assembly file.

mod amdgcn;
mod nvptx;

use targets::arch::Target;

/// A function or kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Function {
    /// Its symbol.
    pub name: String,
    /// Its instructions and labels.
    pub lines: Vec<Line>,
    /// The function that this is a second name of, if it is.
    pub same_as: Option<String>,
}

/// A line of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Its number in the file, from 1.
    pub number: usize,
    /// Its content.
    pub content: LineContent,
}

/// The content of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineContent {
    /// A jump target.
    Label(String),
    /// An instruction.
    Instruction(Instruction),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The condition before it, with its `@`, or nothing.
    pub guard: String,
    /// The operation with its qualifiers, `ld.param.b64`.
    pub op: String,
    /// Everything after it.
    pub operands: String,
}

impl Instruction {
    /// Parses an instruction; `text` has neither comment nor semicolon.
    fn parse(text: &str) -> Self {
        let split = |text: &str| match text.split_once(char::is_whitespace) {
            Some((first, rest)) => (first.to_owned(), rest.trim().to_owned()),
            None => (text.to_owned(), String::new()),
        };
        let (first, rest) = split(text.trim());
        if first.starts_with('@') {
            let (op, operands) = split(&rest);
            return Self {
                guard: first,
                op,
                operands,
            };
        }
        Self {
            guard: String::new(),
            op: first,
            operands: rest,
        }
    }
}

impl std::fmt::Display for Instruction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [&self.guard, &self.op, &self.operands];
        let parts: Vec<&str> = parts
            .into_iter()
            .filter(|part| !part.is_empty())
            .map(String::as_str)
            .collect();
        f.write_str(&parts.join(" "))
    }
}

impl Function {
    /// Its instructions, with the numbers of their lines.
    pub fn instructions(&self) -> impl Iterator<Item = (usize, &Instruction)> {
        self.lines.iter().filter_map(|line| match &line.content {
            LineContent::Instruction(instruction) => Some((line.number, instruction)),
            LineContent::Label(_) => None,
        })
    }
}

/// The functions that `assembly` defines, in order.
#[must_use]
pub fn functions(target: Target, assembly: &str) -> Vec<Function> {
    match target {
        Target::Nvptx => nvptx::functions(assembly),
        Target::Amdgcn => amdgcn::functions(assembly),
    }
}

/// The function with `name` as its name or second name.
#[must_use]
pub fn find<'f>(functions: &'f [Function], name: &str) -> Option<&'f Function> {
    let found = functions.iter().find(|function| function.name == name)?;
    match &found.same_as {
        Some(other) => find(functions, other),
        None => Some(found),
    }
}
