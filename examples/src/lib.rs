//! Programs that use reverse offload.
