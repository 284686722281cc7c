//! The common parts of the tests of linkable pieces: the pieces, other compilers and linkers, and
//! checks of the resulting images.

mod check;
mod pieces;
mod tools;

pub use check::{check_linked, check_registers, is_linked};
pub use pieces::{HELLO, built, include, object_files, piece, workspace};
pub use tools::{Tool, clang, gcc, missing, nvlink, ptxas, run, said, scratch, tool};
