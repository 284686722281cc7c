//! Binds the functions that [`std_calls`] declares.

use std::sync::Arc;

use std_calls::{
    StdArguments, StdCanonicalPath, StdChangeDirectory, StdClose, StdCopy, StdCreateDirectory,
    StdDirectory, StdDuplicate, StdEnvironment, StdErrorText, StdExit, StdFileRead, StdFileSetMode,
    StdFileSetTimes, StdFileStatus, StdFileWrite, StdHardLink, StdIsTerminal, StdLock,
    StdNextEntries, StdOpen, StdOpenDirectory, StdProcessId, StdProgram, StdRandom, StdRead,
    StdReadLink, StdRemoveDirectory, StdRemoveFile, StdRemoveTree, StdRename, StdSeek, StdSetMode,
    StdSetTimes, StdStatus, StdSymbolicLink, StdSync, StdSystemTime, StdTruncate, StdWrite,
};

use super::errors::to_reply;
use super::{Services, process};
use crate::runtime::{Functions, RuntimeError};

impl Services {
    /// Adds the functions of [`std_calls`], bound to these services. An image that is loaded with
    /// them may use `std`.
    ///
    /// # Errors
    /// One of the names is registered already. Some of the functions may have been added then.
    pub fn add_to(self: &Arc<Self>, functions: &mut Functions) -> Result<(), RuntimeError> {
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

            StdOpen => open(path, options, mode);
            StdClose => close(handle);
            StdFileRead => file_read(file, bytes);
            StdFileWrite => file_write(file, bytes);
            StdSeek => seek(file, offset, whence);
            StdSync => sync(file, data_only);
            StdTruncate => truncate(file, size);
            StdLock => lock(file, operation);
            StdDuplicate => duplicate(file);
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
        }
        let services = Arc::clone(self);
        functions.add(StdExit::bind(move |status| services.exit(status)))?;
        functions.add(StdSystemTime::bind(process::system_time))?;
        functions.add(StdRandom::bind(|bytes| to_reply(process::random(bytes))))?;
        functions.add(StdProcessId::bind(std::process::id))?;
        functions.add(StdErrorText::bind(|error, text| {
            to_reply(process::error_text(error, text))
        }))?;
        Ok(())
    }
}
