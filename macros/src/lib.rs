//! Procedural macros of host-fn and device-rt.
