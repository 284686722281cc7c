//! One suite for every device and wire.
