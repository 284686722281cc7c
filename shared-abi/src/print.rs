//! The host function that prints for kernels, which every host provides.
//!
//! | argument | kind | content |
//! |---|---|---|
//! | 0 | `FIRSTPRIVATE_INT` | what to print: [`TEXT`], [`INTEGER`] or [`DOUBLE`] |
//! | 1 | `TO` | the text, or what precedes the number |
//! | 2 | `FIRSTPRIVATE_INT` | the number's bits |

/// Name of the function.
pub const FUNCTION: &str = "revoff_print";
/// Symbol that represents it in an image.
pub const SYMBOL: &str = "__revoff_fn_revoff_print";

/// The text verbatim.
pub const TEXT: u32 = 0;
/// The text, an `i64` in decimal, and the end of the line.
pub const INTEGER: u32 = 1;
/// The text, an `f64` with six digits after the point, and the end of the line.
pub const DOUBLE: u32 = 2;
