//! Reading PTX, the whole language: the emulator runs each instruction, and rejects those that it
//! does not know by their line. `targets::ptx`, which all other readers of PTX use, only finds the
//! items at the outermost level, and leaves their contents to the driver's compiler.

pub(crate) mod ast;
pub(crate) mod error;
mod lexer;
mod parser;
pub(crate) mod types;

pub(crate) use self::parser::parse;
