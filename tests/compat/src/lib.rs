//! Programs built by other compilers: finding the compiler, building a program, running it and
//! judging the result.

mod build;
mod built;
mod clang;
mod compare;
mod edit;
mod executable;
mod gcc;
mod harness;
mod process;
mod program;
mod report;
mod rustc;
mod verdict;

pub use build::{Build, complete, copy};
pub use built::{BY, Built, SOURCES};
pub use clang::{Clang, LIBOMPTARGET, LLD};
pub use compare::{compare, compare_with_host};
pub use edit::{lacks_registers, put, registers};
pub use executable::write_executable;
pub use gcc::{AMDGCN, Gcc, MANDATORY, NVPTX, Offload, PLUGIN};
pub use harness::{Cache, Key, folder, limit, prepare, say, test};
pub use process::{Outcome, run};
pub use program::{Ending, Language, Program, Reports};
pub use report::Report;
pub use rustc::Rustc;
pub use verdict::{fails, judge, program_output};
