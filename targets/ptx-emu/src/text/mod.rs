//! Reading PTX.

pub(crate) mod ast;
pub(crate) mod error;
mod lexer;
mod parser;
pub(crate) mod types;

pub(crate) use self::parser::parse;
