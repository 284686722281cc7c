"""Reverse offload for GPUs: kernels that call Python functions and wait for the results."""

from ._revoff import (
    ArgumentError,
    CallError,
    ClosedError,
    DeadlineError,
    DeclarationError,
    DeviceArray,
    DeviceError,
    Error,
    Function,
    ImageError,
    Kernel,
    LaunchError,
    Program,
    Report,
    Runtime,
    SettingError,
    __version__,
    devices,
)

__all__ = [
    "ArgumentError",
    "CallError",
    "ClosedError",
    "DeadlineError",
    "DeclarationError",
    "DeviceArray",
    "DeviceError",
    "Error",
    "Function",
    "ImageError",
    "Kernel",
    "LaunchError",
    "Program",
    "Report",
    "Runtime",
    "SettingError",
    "__version__",
    "devices",
    "function",
]


def function(declaration, *, types=None):
    """Make the decorated callable a host function with this declaration.

    The declaration is written as in Rust: ``"read_chunk(offset: u64, buffer: Out<[u8]>) -> u32"``.
    ``types`` maps the names of structures to dtypes.
    """

    def bind(callable):
        return Function(declaration, callable, types=types)

    return bind
