//! Tests of MPI in kernels, on several ranks: see `tests/mpi.rs`, and `kernel` for the kernels.
