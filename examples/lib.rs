//! Programs that use reverse offload: see the folders beside this file.
