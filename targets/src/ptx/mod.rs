//! PTX as text.

mod items;
mod tokens;

pub(crate) use items::line;
pub use items::{Item, Malformed, items};
pub use tokens::Tokens;
