//! Binds the functions that [`std_calls`] declares.

use std::sync::Arc;

use std_calls::{
    StdAccept, StdArguments, StdCanonicalPath, StdChangeDirectory, StdClose, StdCopy,
    StdCreateDirectory, StdDirectory, StdDuplicate, StdEnvironment, StdErrorText, StdExit,
    StdExitStatusText, StdFileRead, StdFileSetMode, StdFileSetTimes, StdFileStatus, StdFileWrite,
    StdGrowHeap, StdHardLink, StdHeapStatistics, StdIsTerminal, StdKillChild, StdLock, StdLookUp,
    StdMulticast, StdNextEntries, StdOpen, StdOpenDirectory, StdPipe, StdProcessId, StdProgram,
    StdRandom, StdRead, StdReadLink, StdReceive, StdReceiveFrom, StdRemoveDirectory, StdRemoveFile,
    StdRemoveTree, StdRename, StdSeek, StdSend, StdSendTo, StdSetMode, StdSetSocketOption,
    StdSetTimes, StdShutdown, StdSocketAddress, StdSocketOption, StdStartChild, StdStatus,
    StdSymbolicLink, StdSymbols, StdSync, StdSystemTime, StdTcpConnect, StdTcpListen, StdTruncate,
    StdUdpBind, StdUdpConnect, StdWaitChild, StdWaitReadable, StdWrite,
};

use super::direct_files::{DirectRead, DirectWrite};
use super::errno::to_reply;
use super::{Services, commands, process};
use crate::runtime::{Functions, RuntimeError};

impl Services {
    /// Adds the functions of [`std_calls`], bound to these services. An image that is loaded with
    /// them may use `std`.
    ///
    /// # Errors
    /// One of the names is registered already. Some of the functions may have been added then.
    pub(super) fn add_to(self: &Arc<Self>, functions: &mut Functions) -> Result<(), RuntimeError> {
        /// Binds each function to a method, whose result becomes a reply.
        macro_rules! bind {
            ($($function:ident => $method:ident($($argument:ident),*);)*) => {$({
                let services = Arc::clone(self);
                functions.add($function::bind(move |$($argument),*| {
                    to_reply(services.$method($($argument),*))
                }))?;
            })*};
        }
        bind! {
            StdWrite => write(stream, bytes);
            StdRead => read(bytes);
            StdIsTerminal => is_terminal(stream);

            StdArguments => arguments(list);
            StdEnvironment => environment(list);
            StdProgram => program(path);
            StdDirectory => directory(path);
            StdChangeDirectory => change_directory(path);

            StdGrowHeap => grow_heap(least, piece);
            StdSymbols => symbols(offset, list);

            StdOpen => open(path, options, mode);
            StdClose => close(handle);
            StdSeek => seek(file, offset, whence);
            StdSync => sync(file, data_only);
            StdTruncate => truncate(file, size);
            StdLock => lock(file, operation);
            StdDuplicate => duplicate(handle);
            StdFileStatus => file_status(file, status);
            StdFileSetMode => file_set_mode(file, mode);
            StdFileSetTimes => file_set_times(file, times);

            StdStatus => status(path, follow, status);
            StdSetMode => set_mode(path, mode);
            StdSetTimes => set_times(path, follow, times);
            StdCreateDirectory => create_directory(path, mode);
            StdRemoveDirectory => remove_directory(path);
            StdRemoveTree => remove_tree(path);
            StdRemoveFile => remove_file(path);
            StdRename => rename(from, to);
            StdHardLink => hard_link(original, link);
            StdSymbolicLink => symbolic_link(original, link);
            StdReadLink => read_link(path, target);
            StdCanonicalPath => canonical_path(path, canonical);
            StdCopy => copy(from, to);

            StdOpenDirectory => open_directory(path);
            StdNextEntries => next_entries(directory, list);

            StdLookUp => look_up(host, addresses, reason);
            StdTcpConnect => tcp_connect(address, timeout);
            StdTcpListen => tcp_listen(address);
            StdAccept => accept(listener, peer);
            StdUdpBind => udp_bind(address);
            StdUdpConnect => udp_connect(socket, address);
            StdSend => send(socket, bytes);
            StdSendTo => send_to(socket, bytes, address);
            StdReceive => receive(socket, peek, bytes);
            StdReceiveFrom => receive_from(socket, peek, bytes, sender);
            StdShutdown => shutdown(socket, how);
            StdSocketAddress => socket_address(socket, peer, address);
            StdSocketOption => socket_option(socket, option);
            StdSetSocketOption => set_socket_option(socket, option, value);
            StdMulticast => multicast(socket, join, group, interface);

            StdPipe => pipe(ends);
            StdWaitReadable => wait_readable(first, second);
            StdStartChild => start_child(program, arguments, environment, directory, streams, child);
            StdWaitChild => wait_child(child, block);
            StdKillChild => kill_child(child);
        }
        let services = Arc::clone(self);
        functions.add_direct(
            StdFileRead::bind(move |file, bytes| to_reply(services.file_read(file, bytes))),
            Box::new(DirectRead(Arc::clone(self))),
        )?;
        let services = Arc::clone(self);
        functions.add_direct(
            StdFileWrite::bind(move |file, bytes| to_reply(services.file_write(file, bytes))),
            Box::new(DirectWrite(Arc::clone(self))),
        )?;
        let services = Arc::clone(self);
        functions.add(StdExit::bind(move |status| services.exit(status)))?;
        let services = Arc::clone(self);
        functions.add(StdHeapStatistics::bind(move |statistics| {
            services.heap_statistics(*statistics);
        }))?;
        functions.add(StdSystemTime::bind(process::system_time))?;
        functions.add(StdRandom::bind(|bytes| to_reply(process::random(bytes))))?;
        functions.add(StdProcessId::bind(std::process::id))?;
        functions.add(StdExitStatusText::bind(|status, text| {
            to_reply(commands::exit_status_text(status, text))
        }))?;
        functions.add(StdErrorText::bind(|error, text| {
            to_reply(process::error_text(error, text))
        }))?;
        Ok(())
    }
}
