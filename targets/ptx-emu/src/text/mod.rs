//! Reading PTX.

pub(crate) mod ast;
mod lexer;
mod parser;
pub(crate) mod types;

pub(crate) use self::parser::parse;
