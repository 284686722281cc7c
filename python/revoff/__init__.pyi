import os
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

import numpy
from numpy.typing import ArrayLike, DTypeLike, NDArray
from typing_extensions import Buffer

_P = ParamSpec("_P")
_R = TypeVar("_R")

__version__: str

class Error(Exception):
    """Any error of this package."""

class DeviceError(Error):
    """A device cannot be opened, or an operation of it failed."""

class ImageError(Error):
    """A file is not a usable image, or does not fit the device, the functions or a kernel's declaration."""

class LaunchError(Error):
    """A kernel failed."""

class CallError(LaunchError):
    """A call that a kernel made failed. Its cause is the exception that the function raised, if it did."""

class DeadlineError(LaunchError):
    """A kernel has not ended by its deadline."""

class SettingError(Error):
    """A setting has an invalid value: an environment variable, or `deadline`."""

class DeclarationError(Error):
    """A declaration is invalid, or two functions have one name."""

class ArgumentError(Error):
    """An argument does not fit what takes it, or is in use."""

class ClosedError(Error):
    """The runtime has been closed, or a device array freed."""

def devices() -> list[str]:
    """The names of this machine's devices.

    Kinds of devices of which there are none, or whose driver is missing, are left out: opening such a
    device raises the reason.
    """

def function(
    declaration: str, *, types: Mapping[str, DTypeLike] | None = None
) -> Callable[[Callable[_P, _R]], Function[_P, _R]]:
    """Make the decorated callable a host function with this declaration.

    The declaration is written as in Rust: ``"read_chunk(offset: u64, buffer: Out<[u8]>) -> u32"``.
    ``types`` maps the names of structures to dtypes.
    """

class Function(Generic[_P, _R]):
    """A Python callable that kernels call by its declared name. Calling this object calls the callable."""

    def __new__(
        cls,
        declaration: str,
        callable: Callable[_P, _R],
        *,
        types: Mapping[str, DTypeLike] | None = None,
    ) -> Self: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @property
    def __wrapped__(self) -> Callable[_P, _R]: ...
    @property
    def name(self) -> str:
        """The declared name."""
    @property
    def declaration(self) -> str:
        """The declaration as written."""

class Runtime:
    """A device, with the threads that serve the calls of its kernels. Leaving its ``with`` block closes it."""

    def __new__(
        cls, device: str = "host", *, threads: int | None = None, deadline: float | None = None
    ) -> Self:
        """Open a device, such as ``"emu:sm_70"``.

        ``threads`` is the largest number of threads that serve calls, and ``deadline`` the longest time of
        a launch in seconds.
        """
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    @property
    def device(self) -> str:
        """The name of the device."""
    @property
    def description(self) -> str:
        """A short description of the device, such as its model."""
    @property
    def requests(self) -> int:
        """The number of calls from kernels that have been served so far."""
    def load(
        self, image: str | os.PathLike[str] | bytes | bytearray, functions: Sequence[Function[..., Any]] = ()
    ) -> Program:
        """Load an image, a file or the bytes of one. Its kernels can call ``functions``."""
    def array(self, data: ArrayLike) -> DeviceArray:
        """A device array with the elements of ``data``, which may be all that ``numpy.asarray`` takes."""
    def zeros(self, shape: int | Sequence[int], dtype: DTypeLike | None = None) -> DeviceArray:
        """A device array of zeros."""
    def close(self) -> None:
        """Close the device: what was made from this runtime cannot be used any more.

        Launches in other threads go on, and keep the device until they end.
        """

class DeviceArray:
    """An array on a device. It stays there between launches, until it is freed, or Python has no reference to it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its dimensions."""
    @property
    def dtype(self) -> numpy.dtype[Any]:
        """The type of its elements."""
    @property
    def nbytes(self) -> int:
        """Its size in bytes."""
    def copy_to_host(self, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """Copy the array to ``out``, an array of its dtype and shape, or to a new one. Return that."""
    def copy_from_host(self, array: NDArray[Any] | Buffer) -> None:
        """Copy an array of the same dtype and shape to this one."""
    def free(self) -> None:
        """Free the memory, once running launches that use it have ended."""

class Program:
    """An image on a device."""

    @property
    def kernels(self) -> list[str]:
        """The names of the image's kernels."""
    def kernel(
        self, declaration: str, *, types: Mapping[str, DTypeLike] | None = None, unchecked: bool = False
    ) -> Kernel:
        """The kernel with this declaration, which the image must have been built from.

        ``types`` maps the names of structures to dtypes. An ``unchecked`` declaration is not compared with the
        image's: it is for kernels that have none, such as those in C, and it may have pointers.
        """

class Kernel:
    """A kernel of a loaded image. Calling it launches it and waits for its end."""

    @property
    def name(self) -> str:
        """The declared name."""
    @property
    def declaration(self) -> str:
        """The declaration as written."""
    def __call__(
        self, *args: int | float | NDArray[Any] | Buffer | DeviceArray, teams: int = 1, threads: int = 1
    ) -> Report:
        """Launch the kernel with one argument for each parameter, and wait for its end.

        Arrays are copied to the device before, and back afterwards, as their parameters are declared; device
        arrays stay there. If the kernel or one of its calls fails, nothing is copied back.
        """

class Report:
    """The result of a launch without errors."""

    @property
    def seconds(self) -> float:
        """The time from the kernel's start to its end."""
