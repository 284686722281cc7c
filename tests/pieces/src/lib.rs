//! What the tests of linkable pieces have in common: the pieces, other people's
//! compilers and linkers, and what must be true of an image that these made.

mod check;
mod pieces;
mod tools;

pub use check::{check_linked, check_registers, is_linked};
pub use pieces::{HELLO, built, include, object_files, piece, workspace};
pub use tools::{Tool, clang, gcc, missing, nvlink, ptxas, run, said, scratch, tool};
