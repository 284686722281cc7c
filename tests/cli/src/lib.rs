//! Tests of the revoff command and the examples as a user runs them.
