//! The host side of reverse offload: devices, launches, and the threads that serve calls.
