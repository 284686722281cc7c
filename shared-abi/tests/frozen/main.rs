//! Layouts and constants, frozen: literal bytes, offsets and values, and the
//! same for the C header.
//!
//! **If a test here fails, do not change the test.** Images that are already
//! built carry these layouts. Raise `ABI_VERSION` and add a file for it; what a
//! version's file says about a layout that is no longer served goes with the
//! layout (see RULES.md, rule 8).

mod c_header;
mod gcc;
mod map_kind;
mod table;
mod v1;
