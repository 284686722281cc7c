//! Tables of operations, one file per group of encodings.
//!
//! A row looks so:
//!
//! ```text
//! global_load_b32 [(0x14 global_load_dword) 0x14 0x14] B32 = B64 + flag @ gfx90a gfx942;
//! ```
//!
//! - The name is that of the newest generation.
//! - The numbers are those of gfx9, gfx11 and gfx12, with the generation's own name if it differs;
//!   `_` where it does not exist.
//! - The [kinds](Kind) of the destinations stand before `=`, those of the sources behind it.
//! - Flags (see [`Flag`]) follow `+`.
//! - Architectures of gfx9 that have the operation follow `@`, unless all have it.

mod buffer;
mod dual;
mod flat;
mod interp;
mod lds;
mod packed;
mod row;
mod salu;
mod smem;
mod valu;

pub use self::buffer::{BufferOp, TypedBufferOp};
pub use self::dual::DualOp;
pub use self::flat::FlatOp;
pub use self::interp::InterpOp;
pub use self::lds::LdsOp;
pub use self::packed::PackedOp;
pub use self::row::{Flag, Kind, Row};
pub use self::salu::{Sop1Op, Sop2Op, SopcOp, SopkOp, SoppOp};
pub use self::smem::ScalarMemoryOp;
pub use self::valu::ValuOp;
use crate::arch::Generation;

/// Whether the vector operation of that number has a form of 32 bits.
pub(crate) fn has_short_form(generation: Generation, number: u16) -> bool {
    match generation {
        Generation::Gfx9 => number < 0x1c0,
        Generation::Gfx11 | Generation::Gfx12 => number < 0x140 || (0x180..0x200).contains(&number),
    }
}
