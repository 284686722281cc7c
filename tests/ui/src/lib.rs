//! The compiler's messages for wrong uses of the macros, and of tasks whose data may be dropped
//! before they run. One crate has all of them, because each crate with such tests compiles its
//! dependencies for them once more.
