//! Programs that other compilers build: what a test needs to find the compiler, build a
//! program, run it and judge how it ended.

mod built;
mod gcc;
mod process;
mod program;
mod verdict;

pub use built::{BY, Built, SOURCES};
pub use gcc::{Build, Gcc, PLUGIN, copy};
pub use process::{Outcome, run};
pub use program::{Ending, Language, Program};
pub use verdict::judge;
