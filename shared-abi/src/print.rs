//! The host function that prints for kernels, which every host provides.
//!
//! | argument | kind | content |
//! |---|---|---|
//! | 0 | `FIRSTPRIVATE_INT` | what to print: [`TEXT`], [`INTEGER`], [`DOUBLE`] or [`PIECE`], perhaps with [`STDERR`] |
//! | 1 | `TO` | the text, or what precedes the number |
//! | 2 | `FIRSTPRIVATE_INT`, `TOFROM` of [`PIECE`] | the number's bits, or the number of a text in pieces |
//!
//! A text that is too long for one call is sent in pieces. The host keeps the pieces and prints the
//! whole text at once, so that the texts of other threads do not come between them.

/// Name of the function.
pub const FUNCTION: &str = "revoff_print";
/// Symbol that represents it in an image.
pub const SYMBOL: &str = "__revoff_fn_revoff_print";

/// The text verbatim. If argument 2 is not 0, the pieces with that number precede it.
pub const TEXT: u32 = 0;
/// The text, an `i64` in decimal, and the end of the line.
pub const INTEGER: u32 = 1;
/// The text, an `f64` with six digits after the point, and the end of the line.
pub const DOUBLE: u32 = 2;
/// Keeps the text as a piece of a longer one. Argument 2 is the number of the pieces before it; 0: none.
/// The host replaces it by the number of the pieces with this one, or by 0 if it has not kept the
/// piece, because pieces take too much memory.
pub const PIECE: u32 = 3;
/// A flag: print on the standard error.
pub const STDERR: u32 = 1 << 8;
