//! Layouts and constants, frozen: literal bytes, offsets and values, and the
//! same for the C header.
//!
//! **If a test here fails, do not change the test.** Existing images contain these layouts.
//! Increment `ABI_VERSION` and add a file for it. Remove a layout from a version's file once the
//! layout is no longer supported (see RULES.md, rule 8).

mod c_header;
mod gcc;
mod map_kind;
mod table;
mod v2;
