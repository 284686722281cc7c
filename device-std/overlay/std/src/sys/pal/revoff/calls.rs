//! The functions that the platform layer calls. The crate `device-std`, with which every program is
//! linked, defines them, most of them as calls to the host; it includes this file to define exactly
//! these.
//!
//! Results and parameters are those of the crate `std-calls`.

/// Expands `$expand!` with all functions that are calls to the host.
macro_rules! for_each_call {
    ($expand:ident) => {
        $expand! {
            fn std_write(stream: u32, bytes: &[u8]) -> i64;
            fn std_read(bytes: &mut [u8]) -> i64;
            fn std_is_terminal(stream: u32) -> i64;
            fn std_arguments(list: &mut [u8]) -> i64;
            fn std_environment(list: &mut [u8]) -> i64;
            fn std_program(path: &mut [u8]) -> i64;
            fn std_directory(path: &mut [u8]) -> i64;
            fn std_change_directory(path: &[u8]) -> i64;
            fn std_system_time() -> i64;
            fn std_random(bytes: &mut [u8]) -> i64;
            fn std_process_id() -> u32;
            fn std_error_text(error: i32, text: &mut [u8]) -> i64;
            fn std_symbols(offset: u64, list: &mut [u8]) -> i64;
            fn std_open(path: &[u8], options: u32, mode: u32) -> i64;
            fn std_close(handle: u32) -> i64;
            fn std_file_read(file: u32, bytes: &mut [u8]) -> i64;
            fn std_file_write(file: u32, bytes: &[u8]) -> i64;
            fn std_seek(file: u32, offset: i64, whence: u32) -> i64;
            fn std_sync(file: u32, data_only: u32) -> i64;
            fn std_truncate(file: u32, size: u64) -> i64;
            fn std_lock(file: u32, operation: u32) -> i64;
            fn std_duplicate(handle: u32) -> i64;
            fn std_file_status(file: u32, status: &mut FileStatus) -> i64;
            fn std_file_set_mode(file: u32, mode: u32) -> i64;
            fn std_file_set_times(file: u32, times: &FileTimes) -> i64;
            fn std_status(path: &[u8], follow: u32, status: &mut FileStatus) -> i64;
            fn std_set_mode(path: &[u8], mode: u32) -> i64;
            fn std_set_times(path: &[u8], follow: u32, times: &FileTimes) -> i64;
            fn std_create_directory(path: &[u8], mode: u32) -> i64;
            fn std_remove_directory(path: &[u8]) -> i64;
            fn std_remove_tree(path: &[u8]) -> i64;
            fn std_remove_file(path: &[u8]) -> i64;
            fn std_rename(from: &[u8], to: &[u8]) -> i64;
            fn std_hard_link(original: &[u8], link: &[u8]) -> i64;
            fn std_symbolic_link(original: &[u8], link: &[u8]) -> i64;
            fn std_read_link(path: &[u8], target: &mut [u8]) -> i64;
            fn std_canonical_path(path: &[u8], canonical: &mut [u8]) -> i64;
            fn std_copy(from: &[u8], to: &[u8]) -> i64;
            fn std_open_directory(path: &[u8]) -> i64;
            fn std_next_entries(directory: u32, list: &mut [u8]) -> i64;
            fn std_look_up(host: &[u8], addresses: &mut [SocketAddress], reason: &mut [u8]) -> i64;
            fn std_tcp_connect(address: &SocketAddress, timeout: u64) -> i64;
            fn std_tcp_listen(address: &SocketAddress) -> i64;
            fn std_accept(listener: u32, peer: &mut SocketAddress) -> i64;
            fn std_udp_bind(address: &SocketAddress) -> i64;
            fn std_udp_connect(socket: u32, address: &SocketAddress) -> i64;
            fn std_send(socket: u32, bytes: &[u8]) -> i64;
            fn std_send_to(socket: u32, bytes: &[u8], address: &SocketAddress) -> i64;
            fn std_receive(socket: u32, peek: u32, bytes: &mut [u8]) -> i64;
            fn std_receive_from(socket: u32, peek: u32, bytes: &mut [u8], sender: &mut SocketAddress) -> i64;
            fn std_shutdown(socket: u32, how: u32) -> i64;
            fn std_socket_address(socket: u32, peer: u32, address: &mut SocketAddress) -> i64;
            fn std_socket_option(socket: u32, option: u32) -> i64;
            fn std_set_socket_option(socket: u32, option: u32, value: u64) -> i64;
            fn std_multicast(socket: u32, join: u32, group: &SocketAddress, interface: &SocketAddress) -> i64;
            fn std_pipe(ends: &mut PipeEnds) -> i64;
            fn std_wait_readable(first: u32, second: u32) -> i64;
            fn std_start_child(program: &[u8], arguments: &[u8], environment: &[u8], directory: &[u8], streams: &ChildStreams, child: &mut StartedChild) -> i64;
            fn std_wait_child(child: u32, block: u32) -> i64;
            fn std_kill_child(child: u32) -> i64;
            fn std_exit_status_text(status: i32, text: &mut [u8]) -> i64;
        }
    };
}

/// Expands `$expand!` with the functions that run on the device.
macro_rules! for_each_device_function {
    ($expand:ident) => {
        $expand! {
            /// Nanoseconds of a clock that never goes back.
            fn std_monotonic_time() -> u64;
            /// Waits a little, longer the larger `attempt` is.
            fn std_pause(attempt: u32) -> ();
            /// Waits a little while the word is `expected`, longer the larger `attempt` is, and at most for
            /// this time. True if another value or a call of `std_wake` ended the wait.
            fn std_wait(word: &AtomicU32, expected: u32, attempt: u32, nanoseconds: u64) -> bool;
            /// Wakes up to `count` threads that wait for the word. False if there was none, and on devices
            /// where waiting threads poll.
            fn std_wake(word: &AtomicU32, count: u32) -> bool;
            /// The index of the calling thread: below `std_threads`, 0 for that of `main`.
            fn std_thread() -> u32;
            /// Calls `visit` with the return address of each call that led here, the last one first, until it
            /// returns false. Addresses are offsets in the image.
            fn std_trace(visit: &mut dyn FnMut(usize) -> bool) -> ();
            /// The most threads that can run at the same time.
            fn std_threads() -> u32;
            /// Ends the program with an exit status.
            fn std_exit(status: i32) -> !;
            /// Ends the program as after a signal.
            fn std_abort() -> !;
        }
    };
}

/// The same for those with requirements.
macro_rules! for_each_unsafe_device_function {
    ($expand:ident) => {
        $expand! {
            /// Lets an idle thread run `std_run_thread(start)`, which owns what `start` points to. False,
            /// and the caller keeps it, if there is no idle thread.
            fn std_spawn(start: *mut u8) -> bool;
            /// Memory of the size and alignment of a layout, or null.
            fn std_alloc(size: usize, align: usize) -> *mut u8;
            /// Frees memory that `std_alloc` or `std_realloc` returned with this size and alignment.
            fn std_dealloc(memory: *mut u8, size: usize, align: usize) -> ();
            /// Resizes such memory, or returns null and leaves it.
            fn std_realloc(memory: *mut u8, size: usize, align: usize, new_size: usize) -> *mut u8;
        }
    };
}

/// The metadata of a file: see `std_calls::FileStatus`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FileStatus {
    pub size: u64,
    pub modified: i64,
    pub accessed: i64,
    pub created: i64,
    pub mode: u32,
    pub kind: u32,
}

impl FileStatus {
    pub const FILE: u32 = 1;
    pub const DIRECTORY: u32 = 2;
    pub const LINK: u32 = 3;
}

/// The times of a file to set: see `std_calls::FileTimes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FileTimes {
    pub accessed: i64,
    pub modified: i64,
}

/// The address of a socket: see `std_calls::SocketAddress`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SocketAddress {
    pub ip: [u8; 16],
    pub flow_info: u32,
    pub scope_id: u32,
    pub port: u16,
    pub version: u16,
}

impl SocketAddress {
    pub const V4: u16 = 4;
    pub const V6: u16 = 6;
}

/// The ends of a pipe: see `std_calls::PipeEnds`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct PipeEnds {
    pub reader: u32,
    pub writer: u32,
}

/// The standard streams for a child: see `std_calls::ChildStreams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ChildStreams {
    pub stdin: u32,
    pub stdout: u32,
    pub stderr: u32,
}

/// A child that has started: see `std_calls::StartedChild`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StartedChild {
    pub child: u32,
    pub id: u32,
    pub stdin: u32,
    pub stdout: u32,
    pub stderr: u32,
}

impl ChildStreams {
    pub const NULL: u32 = u32::MAX;
    pub const PIPE: u32 = u32::MAX - 1;
}
