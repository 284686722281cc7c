//! Moves the stacks of a program's threads to global memory.
//!
//! On GPUs a function's variables are in memory that no other thread reaches: the same address means
//! another variable there. Programs with `std` share variables on their stacks, above all with scoped
//! threads. So each thread gets a stack in global memory, from the parameters
//! [`STACKS_PARAMETER`](std_calls::kernel::STACKS_PARAMETER) and
//! [`STACK_BYTES_PARAMETER`](std_calls::kernel::STACK_BYTES_PARAMETER) of the kernel. Two words of
//! shared memory, which belong to the thread's block and therefore to it alone, have the stack's top
//! and its end.
//!
//! | module | changes |
//! |---|---|
//! | `ptx` | for NVIDIA GPUs: the text that LLVM's back end writes |
//! | `llvm_ir` | for AMD GPUs: the optimised program as LLVM's intermediate representation |
//! | `layout` | sizes of LLVM's types |
//! | `hoisting` | a fault of LLVM's in functions of AMD GPUs |

mod hoisting;
mod layout;
pub(super) mod llvm_ir;
pub(super) mod ptx;

/// The function of `device-std` that reports an overflow and does not return.
const OVERFLOW: &str = "std_stack_overflow";

/// Whether a block of LLVM's representation begins: other lines of a function are indented, comments or empty.
fn is_label(line: &str) -> bool {
    !line.starts_with([' ', ';']) && !line.is_empty()
}

/// Code that LLVM does not write, as far as is known.
#[derive(Debug, thiserror::Error)]
#[error("a use of a thread's own memory that cannot be moved to global memory: `{0}`")]
pub(crate) struct StackError(String);
