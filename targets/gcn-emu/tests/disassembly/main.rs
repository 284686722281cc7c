//! Compares decoded instructions with the text of LLVM's disassembler.
//!
//! | module | job |
//! |---|---|
//! | `sweep` | words that cover all encodings and operations |
//! | `programs` | instructions of compiled programs |
//! | `compare` | comparing a listing with the decoder |
//! | `llvm` | running the disassembler |

#![expect(
    clippy::print_stdout,
    reason = "tests print figures, and the reason when they skip"
)]

mod compare;
mod llvm;
mod programs;
mod sweep;
