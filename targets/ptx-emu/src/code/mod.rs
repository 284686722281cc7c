//! From the text of a function to what a warp executes.

mod deciding;
mod decode;
mod flow;
mod function;
pub(crate) mod op;

pub(crate) use self::deciding::Deciding;
pub(crate) use self::decode::{Resolve, Symbol, decode};
pub(crate) use self::function::Function;
