//! The host functions behind Rust's `std` on a device: what an operating system's calls are to a
//! program.
//!
//! A result is an `i64`: at least 0 if the call succeeded, otherwise a Linux error number, negated
//! ([`error`]). Paths, names and arguments are bytes without a NUL. A list is one
//! text, each element followed by a NUL. A function that fills a buffer with a text of unknown length
//! returns the whole length; the caller repeats the call with a larger buffer if it was too small.
//!
//! Handles are numbers that the host gives out. A program cannot guess its way to anything with one: the
//! host looks each up in the table of its program.

#![no_std]
#![allow(
    unexpected_cfgs,
    reason = "the compiler does not know the operating system of devices"
)]

mod child;
// A link to the platform layer's file: std has no dependency on this crate, and a package has only files of its folder.
mod constants;
mod heap;
pub mod kernel;
mod net;

use revoff_fn::zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub use child::{ChildStreams, PipeEnds, StartedChild};
pub use constants::{LOOKUP_FAILED, NO_TIME, RUNNING, lock, open, shutdown, socket_option};
pub use heap::{HeapPiece, HeapStatistics};
pub use net::SocketAddress;

revoff_fn::host_functions! {
    // Hosts that are libraries, such as plugins, export only what they are asked for.
    #![export_if(target_os = "revoff")]

    /// Writes to the standard output (`stream` 1) or the standard error (2). Returns the number of
    /// bytes written.
    pub fn std_write(stream: u32, bytes: &[u8]) -> i64;
    /// Reads from the standard input. Returns the number of bytes read, 0 at the end.
    pub fn std_read(bytes: Out<[u8]>) -> i64;
    /// Whether a standard stream (0 to 2) is a terminal: 1 or 0.
    pub fn std_is_terminal(stream: u32) -> i64;

    /// The arguments, the program's name first: a list. Returns its length.
    pub fn std_arguments(list: Out<[u8]>) -> i64;
    /// The environment, `NAME=VALUE` each: a list. Returns its length.
    pub fn std_environment(list: Out<[u8]>) -> i64;
    /// The path of the program. Returns its length.
    pub fn std_program(path: Out<[u8]>) -> i64;
    /// The working directory. Returns its length.
    pub fn std_directory(path: Out<[u8]>) -> i64;
    /// Changes the working directory of the program, which is not that of the host's process.
    pub fn std_change_directory(path: &[u8]) -> i64;

    /// The time of day in nanoseconds since 1970, UTC.
    pub fn std_system_time() -> i64;
    /// Fills the buffer with random bytes, fit for cryptography.
    pub fn std_random(bytes: Out<[u8]>) -> i64;

    /// Ends the program with an exit status. If the call returns, `process::exit`, a panic and an abort
    /// trap, which fails the launch; after a `main` that has returned, the launch ends when the program's
    /// other threads have.
    pub fn std_exit(status: i32);
    /// Allocates device memory for the heap of the program, at least `least` bytes, which lives until
    /// the launch has ended.
    pub fn std_grow_heap(least: u64, piece: Out<HeapPiece>) -> i64;
    /// Reports what the program allocated, before it ends.
    pub fn std_heap_statistics(statistics: &HeapStatistics);
    /// The identifier of the host's process.
    pub fn std_process_id() -> u32;
    /// The text of an error number. Returns its length.
    pub fn std_error_text(error: i32, text: Out<[u8]>) -> i64;
    /// Names the functions at an offset in the program's image. The list has the name, the file, the line
    /// and the column of each, which are empty if unknown; inlined functions come before their callers.
    /// Returns the list's length; an error if no function is known.
    pub fn std_symbols(offset: u64, list: Out<[u8]>) -> i64;

    /// Opens a file; `options` are those of [`open`], `mode` the permissions of a new file.
    /// Returns a handle.
    pub fn std_open(path: &[u8], options: u32, mode: u32) -> i64;
    /// Closes a file, a list of a folder, a socket or a child, which runs on.
    pub fn std_close(handle: u32) -> i64;
    /// Reads at the file's position. Returns the number of bytes read, 0 at the end.
    pub fn std_file_read(file: u32, bytes: Out<[u8]>) -> i64;
    /// Writes at the file's position. Returns the number of bytes written.
    pub fn std_file_write(file: u32, bytes: &[u8]) -> i64;
    /// Moves the file's position: by `offset` from its start (`whence` 0), from the position (1), or
    /// from its end (2). Returns the new one.
    pub fn std_seek(file: u32, offset: i64, whence: u32) -> i64;
    /// Waits until the file's data is on its storage, with `data_only` 0 also its metadata.
    pub fn std_sync(file: u32, data_only: u32) -> i64;
    /// Cuts or extends the file.
    pub fn std_truncate(file: u32, size: u64) -> i64;
    /// Locks or unlocks the file, see [`lock`].
    pub fn std_lock(file: u32, operation: u32) -> i64;
    /// Another handle of the same open file or socket.
    pub fn std_duplicate(handle: u32) -> i64;
    /// The metadata of an open file.
    pub fn std_file_status(file: u32, status: Out<FileStatus>) -> i64;
    /// Sets the permissions of an open file.
    pub fn std_file_set_mode(file: u32, mode: u32) -> i64;
    /// Sets times of an open file.
    pub fn std_file_set_times(file: u32, times: &FileTimes) -> i64;

    /// The metadata of a path, with `follow` 0 of a symbolic link itself.
    pub fn std_status(path: &[u8], follow: u32, status: Out<FileStatus>) -> i64;
    /// Sets the permissions of a path.
    pub fn std_set_mode(path: &[u8], mode: u32) -> i64;
    /// Sets times of a path, with `follow` 0 of a symbolic link itself.
    pub fn std_set_times(path: &[u8], follow: u32, times: &FileTimes) -> i64;
    /// Creates a folder.
    pub fn std_create_directory(path: &[u8], mode: u32) -> i64;
    /// Removes an empty folder.
    pub fn std_remove_directory(path: &[u8]) -> i64;
    /// Removes a folder with all that it contains; of a symbolic link, the link.
    pub fn std_remove_tree(path: &[u8]) -> i64;
    /// Removes a file.
    pub fn std_remove_file(path: &[u8]) -> i64;
    /// Renames a file or folder.
    pub fn std_rename(from: &[u8], to: &[u8]) -> i64;
    /// Creates the hard link `link` to `original`.
    pub fn std_hard_link(original: &[u8], link: &[u8]) -> i64;
    /// Creates the symbolic link `link` with the text `original`.
    pub fn std_symbolic_link(original: &[u8], link: &[u8]) -> i64;
    /// The text of a symbolic link. Returns its length.
    pub fn std_read_link(path: &[u8], target: Out<[u8]>) -> i64;
    /// The absolute path without symbolic links. Returns its length.
    pub fn std_canonical_path(path: &[u8], canonical: Out<[u8]>) -> i64;
    /// Copies a file and its permissions. Returns the number of bytes.
    pub fn std_copy(from: &[u8], to: &[u8]) -> i64;

    /// Opens the list of a folder. Returns a handle.
    pub fn std_open_directory(path: &[u8]) -> i64;
    /// The next entries of a folder, as many as fit: a list, each element the decimal digit of a
    /// [`kind`](FileStatus::kind) and the name. Returns its length, 0 at the end.
    pub fn std_next_entries(directory: u32, list: Out<[u8]>) -> i64;

    /// The addresses of a host, with the port 0, as many as fit. Returns their number. If the name
    /// has none, the error is [`LOOKUP_FAILED`], and `reason` a text that a NUL follows.
    pub fn std_look_up(host: &[u8], addresses: Out<[SocketAddress]>, reason: Out<[u8]>) -> i64;
    /// Connects by TCP, within `timeout` nanoseconds unless that is 0. Returns a handle.
    pub fn std_tcp_connect(address: &SocketAddress, timeout: u64) -> i64;
    /// Listens for TCP connections. Returns a handle.
    pub fn std_tcp_listen(address: &SocketAddress) -> i64;
    /// Waits for a connection. Returns its handle.
    pub fn std_accept(listener: u32, peer: Out<SocketAddress>) -> i64;
    /// Opens a UDP socket. Returns a handle.
    pub fn std_udp_bind(address: &SocketAddress) -> i64;
    /// Sets the only address that a UDP socket sends to and receives from.
    pub fn std_udp_connect(socket: u32, address: &SocketAddress) -> i64;
    /// Sends to the address to which the socket is connected. Returns the number of bytes sent.
    pub fn std_send(socket: u32, bytes: &[u8]) -> i64;
    /// Sends to an address. Returns the number of bytes sent.
    pub fn std_send_to(socket: u32, bytes: &[u8], address: &SocketAddress) -> i64;
    /// Receives, and leaves the bytes there unless `peek` is 0. Returns their number, for TCP 0 at
    /// the end.
    pub fn std_receive(socket: u32, peek: u32, bytes: Out<[u8]>) -> i64;
    /// Receives likewise, with the address of the sender.
    pub fn std_receive_from(
        socket: u32,
        peek: u32,
        bytes: Out<[u8]>,
        sender: Out<SocketAddress>,
    ) -> i64;
    /// Closes one or both directions of a connection, see [`shutdown`].
    pub fn std_shutdown(socket: u32, how: u32) -> i64;
    /// The address of the socket, or unless `peer` is 0 that to which it is connected.
    pub fn std_socket_address(socket: u32, peer: u32, address: Out<SocketAddress>) -> i64;
    /// The value of an option, see [`socket_option`].
    pub fn std_socket_option(socket: u32, option: u32) -> i64;
    /// Sets an option, see [`socket_option`].
    pub fn std_set_socket_option(socket: u32, option: u32, value: u64) -> i64;
    /// Joins a multicast group, or leaves it if `join` is 0. The interface is that of an IPv4
    /// address, or has the number that is `scope_id`.
    pub fn std_multicast(
        socket: u32,
        join: u32,
        group: &SocketAddress,
        interface: &SocketAddress,
    ) -> i64;

    /// Opens a pipe.
    pub fn std_pipe(ends: Out<PipeEnds>) -> i64;
    /// Waits until one of two files has bytes or ends. Returns 1 if that is the first, 2 if it is
    /// the second, and 3 for both.
    pub fn std_wait_readable(first: u32, second: u32) -> i64;
    /// Starts a command. `arguments` is a list without the program's name, `environment` one of
    /// `NAME=VALUE`; `directory` may be empty, and is relative to the working directory.
    pub fn std_start_child(
        program: &[u8],
        arguments: &[u8],
        environment: &[u8],
        directory: &[u8],
        streams: &ChildStreams,
        child: Out<StartedChild>,
    ) -> i64;
    /// Waits for the end of a child, or unless `block` looks whether it has ended. Returns its status
    /// as Linux has it, or [`RUNNING`].
    pub fn std_wait_child(child: u32, block: u32) -> i64;
    /// Ends a child. That is no error if it has ended.
    pub fn std_kill_child(child: u32) -> i64;
    /// The text of a child's status. Returns its length.
    pub fn std_exit_status_text(status: i32, text: Out<[u8]>) -> i64;
}

/// The longest list element or path, in bytes: Linux's `PATH_MAX`. A buffer of twice that size has
/// room for an entry of a folder.
pub const MAX_PATH: usize = 4096;

/// The metadata of a file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct FileStatus {
    /// Its size, in bytes.
    pub size: u64,
    /// Its last change, in nanoseconds since 1970, or [`NO_TIME`].
    pub modified: i64,
    /// Its last access, likewise.
    pub accessed: i64,
    /// Its creation, likewise.
    pub created: i64,
    /// The permissions, as Unix has them: 12 bits.
    pub mode: u32,
    /// [`OTHER`](Self::OTHER), [`FILE`](Self::FILE), [`DIRECTORY`](Self::DIRECTORY) or
    /// [`LINK`](Self::LINK).
    pub kind: u32,
}

impl FileStatus {
    /// A device, a pipe or a socket.
    pub const OTHER: u32 = 0;
    /// A regular file.
    pub const FILE: u32 = 1;
    /// A folder.
    pub const DIRECTORY: u32 = 2;
    /// A symbolic link.
    pub const LINK: u32 = 3;
}

/// The times of a file to set, each in nanoseconds since 1970 or [`NO_TIME`].
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[zerocopy(crate = "revoff_fn::zerocopy")]
#[repr(C)]
pub struct FileTimes {
    /// The last access.
    pub accessed: i64,
    /// The last change.
    pub modified: i64,
}

/// The value to return for an error number of Linux.
#[must_use]
pub const fn error(number: i32) -> i64 {
    -(number as i64)
}
