//! The host functions that kernels may call.

use std::ffi::c_void;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use revoff_fn::{AsyncHostFunction, BoxFuture, HostFunction, RawArg};
use shared_abi::status::Status;

use super::{CallError, DeviceFunction};
use crate::device::DeviceError;
use crate::wire::Arg;

/// A host function with a C signature. Its parameter points to the addresses of the arguments.
pub type RawFunction = unsafe extern "C" fn(*mut *mut c_void);

/// The reason why another runtime did not run a function: an error of that runtime.
pub type ForeignError = Box<dyn std::error::Error + Send + Sync>;

/// A host function of another runtime that maps memory itself, such as libgomp for the target
/// regions that GCC compiles to functions.
pub trait ForeignFunction: Send + Sync {
    /// Replaces the kinds of arguments that have another meaning in the other runtime. Called first.
    fn normalize_kinds(&self, _args: &mut [Arg]) {}

    /// Whether the other runtime must map these arguments, because some may lie in memory that it
    /// has mapped.
    fn must_map(&self, args: &[Arg]) -> bool;

    /// Whether the other runtime may have mapped data in the `size` bytes at device address `addr`.
    fn may_have_mapped(&self, addr: u64, size: u64) -> bool;

    /// Maps the arguments, runs the function, and copies results back.
    ///
    /// The arguments are valid and within the limits of a request: all members of a structure and
    /// all pointers of a descriptor are present, the members lie between the first and the last,
    /// and each pointer lies in data of the request or in memory that the other runtime [may have
    /// mapped](Self::may_have_mapped). `memory` returns errors after the call.
    ///
    /// # Errors
    /// The reason why the function did not run.
    fn call_mapping(&self, args: &[Arg], memory: Rc<dyn RequestMemory>)
    -> Result<(), ForeignError>;

    /// Runs the function with mapped arguments.
    ///
    /// # Safety
    /// Each pointer has the type that the function expects at its index, and is valid during the
    /// call.
    ///
    /// # Errors
    /// The reason why the function did not run.
    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), ForeignError>;
}

/// Runs the calls of asynchronous host functions, on an executor of the application.
///
/// Implemented for closures: `move |call| { runtime.spawn(call); }`.
pub trait Spawn: Send + Sync + 'static {
    /// Polls `call` until it is ready, which it is when the device has its result. Returns without
    /// waiting for it.
    ///
    /// If `call` is dropped before, the device's call fails. If it is leaked, the device waits until its
    /// launch is aborted.
    fn spawn(&self, call: BoxFuture<'static, ()>);
}

impl<F: Fn(BoxFuture<'static, ()>) + Send + Sync + 'static> Spawn for F {
    fn spawn(&self, call: BoxFuture<'static, ()>) {
        self(call);
    }
}

/// Access to device memory while a request is served. Bytes that the request carries are read from
/// it, and written to its reply; all others are in device memory.
pub trait RequestMemory {
    /// Copies `len` bytes at device address `from` to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    ///
    /// # Errors
    /// If the host cannot access the range.
    unsafe fn read(&self, to: *mut u8, from: u64, len: usize) -> Result<(), DeviceError>;

    /// Copies `len` bytes at `from` to device address `to`.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    ///
    /// # Errors
    /// If the host cannot access the range.
    unsafe fn write(&self, to: u64, from: *const u8, len: usize) -> Result<(), DeviceError>;
}

/// How a typed function of two arguments serves some of its calls where the host can access the device's
/// memory in place: without copies of the second one, and without what is checked for these (the limit of a
/// request's memory, overlaps). The reply, behind them, is an `i64`.
pub(crate) trait DirectTransfer: Send + Sync {
    /// Whether it writes to the memory of the second argument; it reads otherwise.
    fn writes(&self) -> bool;

    /// Whether the call with these arguments is such a call. They are those of the declaration then.
    ///
    /// The launch cannot be aborted while the call is served: it must not wait for long.
    fn applies(&self, args: &[Arg]) -> bool;

    /// Serves the call, with the second argument's bytes at `place`. Returns the reply: the number of bytes
    /// that it has read or written, from the first on, or a negative one.
    ///
    /// # Safety
    /// `place` is valid for reads and, if it [writes](Self::writes), for writes of the argument's size. Device
    /// threads may access the bytes meanwhile.
    unsafe fn call(&self, args: &[Arg], place: *mut u8) -> i64;
}

enum Callee {
    /// With another way to serve some calls, if there is one.
    Typed(Box<dyn HostFunction>, Option<Box<dyn DirectTransfer>>),
    /// With the executor that runs its calls, and another way to serve some of them, if there is one.
    Async(
        Box<dyn AsyncHostFunction>,
        Box<dyn Spawn>,
        Option<Box<dyn DeviceFunction>>,
    ),
    Raw(RawFunction),
    Foreign(Arc<dyn ForeignFunction>),
}

/// A registered function and its statistics.
pub(crate) struct RegisteredFunction {
    name: String,
    callee: Callee,
    /// Approximate number of calls: threads may overwrite each other's count.
    calls: AtomicU32,
    /// Whether a call takes much longer than waking another thread to poll.
    slow: AtomicBool,
}

impl fmt::Debug for RegisteredFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Shortest duration of a slow call: several times the cost of waking a thread.
const SLOW_CALL: Duration = Duration::from_micros(5);

/// One of this many calls is timed.
const SAMPLE_INTERVAL: u32 = 16;

/// The failure of a host function.
pub(crate) enum FunctionError {
    /// Its arguments are not those of its declaration. It did not run.
    BadArguments(revoff_fn::Failure),
    /// This argument of a typed function is mapped host memory. It did not run.
    SharedArgument(usize),
    /// The other runtime to which it belongs did not run it.
    Foreign(ForeignError),
    /// It ran and failed.
    Failed(String),
    /// Its launch was aborted.
    Aborted,
}

impl FunctionError {
    /// The failure of a call of `function`, and its status.
    pub(crate) fn into_call_error(self, function: String) -> (Status, CallError) {
        match self {
            Self::BadArguments(reason) => (
                Status::REFUSED_MAPPING,
                CallError::BadArguments { function, reason },
            ),
            Self::SharedArgument(argument) => (
                Status::REFUSED_MAPPING,
                CallError::SharedArgument { function, argument },
            ),
            Self::Foreign(reason) => {
                let reason = reason.into();
                (
                    Status::REFUSED_MAPPING,
                    CallError::Foreign { function, reason },
                )
            }
            Self::Failed(message) => (
                Status::FUNCTION_FAILED,
                CallError::Failed { function, message },
            ),
            Self::Aborted => (Status::ABORTED, CallError::Aborted { function }),
        }
    }
}

impl RegisteredFunction {
    fn new(name: String, callee: Callee) -> Self {
        Self {
            name,
            callee,
            calls: AtomicU32::new(0),
            slow: AtomicBool::new(true),
        }
    }

    /// A function with a typed declaration.
    pub(crate) fn typed(name: String, function: Box<dyn HostFunction>) -> Self {
        Self::new(name, Callee::Typed(function, None))
    }

    /// A function with a typed declaration, of which `transfer` serves some calls.
    pub(crate) fn direct(
        name: String,
        function: Box<dyn HostFunction>,
        transfer: Box<dyn DirectTransfer>,
    ) -> Self {
        Self::new(name, Callee::Typed(function, Some(transfer)))
    }

    /// The transfer that serves a call with these arguments without copies, where the device allows it.
    pub(super) fn direct_transfer(&self, args: &[Arg]) -> Option<&dyn DirectTransfer> {
        match &self.callee {
            Callee::Typed(_, transfer) => transfer
                .as_deref()
                .filter(|transfer| transfer.applies(args)),
            Callee::Async(..) | Callee::Raw(_) | Callee::Foreign(_) => None,
        }
    }

    /// An asynchronous function with a typed declaration, the executor that runs its calls, and what serves some of
    /// them with data in device memory.
    pub(crate) fn asynchronous_on(
        name: String,
        function: Box<dyn AsyncHostFunction>,
        spawn: Box<dyn Spawn>,
        on_device: Option<Box<dyn DeviceFunction>>,
    ) -> Self {
        Self::new(name, Callee::Async(function, spawn, on_device))
    }

    /// The function that serves some of its calls with data in device memory, if it is asynchronous and has one.
    pub(super) fn on_device(&self) -> Option<&dyn DeviceFunction> {
        match &self.callee {
            Callee::Async(_, _, on_device) => on_device.as_deref(),
            Callee::Typed(..) | Callee::Raw(_) | Callee::Foreign(_) => None,
        }
    }

    /// The asynchronous function, if it is one, and its executor.
    pub(super) fn asynchronous(&self) -> Option<(&dyn AsyncHostFunction, &dyn Spawn)> {
        match &self.callee {
            Callee::Async(function, spawn, _) => Some((&**function, &**spawn)),
            Callee::Typed(..) | Callee::Raw(_) | Callee::Foreign(_) => None,
        }
    }

    /// A function with a C signature. The caller of `add_raw` ensures that it is safe to call.
    pub(crate) fn raw(name: String, function: RawFunction) -> Self {
        Self::new(name, Callee::Raw(function))
    }

    /// A function of another runtime.
    pub(crate) fn foreign(name: &str, function: Arc<dyn ForeignFunction>) -> Self {
        Self::new(name.to_owned(), Callee::Foreign(function))
    }

    /// See [`ForeignFunction::normalize_kinds`].
    pub(crate) fn normalize_kinds(&self, args: &mut [Arg]) {
        if let Callee::Foreign(function) = &self.callee {
            function.normalize_kinds(args);
        }
    }

    /// Whether it belongs to another runtime, which must map these arguments. See
    /// [`ForeignFunction::must_map`].
    pub(crate) fn must_map(&self, args: &[Arg]) -> bool {
        match &self.callee {
            Callee::Foreign(function) => function.must_map(args),
            Callee::Typed(..) | Callee::Async(..) | Callee::Raw(_) => false,
        }
    }

    /// See [`ForeignFunction::may_have_mapped`].
    pub(crate) fn may_have_mapped(&self, addr: u64, size: u64) -> bool {
        match &self.callee {
            Callee::Foreign(function) => function.may_have_mapped(addr, size),
            Callee::Typed(..) | Callee::Async(..) | Callee::Raw(_) => false,
        }
    }

    /// Lets the other runtime map the arguments and run the function.
    pub(crate) fn call_mapping(
        &self,
        args: &[Arg],
        memory: Rc<dyn RequestMemory>,
    ) -> Result<(), FunctionError> {
        let Callee::Foreign(function) = &self.callee else {
            unreachable!("`must_map` returned true")
        };
        let called = self.timed(|| function.call_mapping(args, memory));
        called.map_err(FunctionError::Foreign)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Hash of the declaration; 0 if there is none.
    pub(crate) fn signature(&self) -> u64 {
        match &self.callee {
            Callee::Typed(function, _) => function.signature(),
            Callee::Async(function, ..) => function.signature(),
            Callee::Raw(_) | Callee::Foreign(_) => 0,
        }
    }

    /// Whether it creates references from its arguments, which must not be shared then.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self.callee, Callee::Typed(..))
    }

    /// Whether the last timed call was slow; true before the first.
    pub(crate) fn is_slow(&self) -> bool {
        // Relaxed: advisory.
        self.slow.load(Ordering::Relaxed)
    }

    /// Runs the function, and times some of its calls.
    ///
    /// # Safety
    /// `pointers` and `args` describe the same memory, which is valid as
    /// [`HostFunction::call`] requires.
    pub(crate) unsafe fn call(
        &self,
        pointers: &mut [*mut c_void],
        args: &[RawArg],
    ) -> Result<(), FunctionError> {
        self.timed(|| match &self.callee {
            Callee::Raw(function) => {
                // SAFETY: the caller of `add_raw` ensures that the function is safe to call with
                // memory that fits its kinds, and our caller ensures that the memory is valid.
                unsafe { function(pointers.as_mut_ptr()) };
                Ok(())
            }
            Callee::Foreign(function) => {
                // SAFETY: our caller ensures that the pointers are valid.
                unsafe { function.call(pointers) }.map_err(FunctionError::Foreign)
            }
            Callee::Async(..) => unreachable!("an asynchronous function is started"),
            Callee::Typed(function, _) => {
                let mut message = String::new();
                // SAFETY: our caller ensures that the arguments are valid.
                match unsafe { function.call(args, &mut message) } {
                    Ok(()) => Ok(()),
                    Err(revoff_fn::Failure::Function) => Err(FunctionError::Failed(message)),
                    Err(failure) => Err(FunctionError::BadArguments(failure)),
                }
            }
        })
    }

    /// Runs `call`, which calls the function, and times one of [`SAMPLE_INTERVAL`] calls.
    pub(super) fn timed<R>(&self, call: impl FnOnce() -> R) -> R {
        // Relaxed: a rough count.
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(1), Ordering::Relaxed);
        let start = calls.is_multiple_of(SAMPLE_INTERVAL).then(Instant::now);
        let result = call();
        if let Some(start) = start {
            // Relaxed: advisory.
            self.slow
                .store(start.elapsed() >= SLOW_CALL, Ordering::Relaxed);
        }
        result
    }
}

/// The functions of all loaded images, by function word.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionTable {
    /// Sorted by word.
    by_word: Vec<(u64, Registration)>,
}

#[derive(Clone, Debug)]
enum Registration {
    Registered(Arc<RegisteredFunction>),
    /// The name in an image of a function that is not registered.
    Unregistered(String),
}

impl FunctionTable {
    /// The function of that word, or its name in an image as the error.
    pub(crate) fn find(&self, word: u64) -> Result<&Arc<RegisteredFunction>, Option<&str>> {
        match self.by_word.binary_search_by_key(&word, |&(word, _)| word) {
            Ok(i) => match &self.by_word[i].1 {
                Registration::Registered(entry) => Ok(entry),
                Registration::Unregistered(name) => Err(Some(name)),
            },
            Err(_) => Err(None),
        }
    }

    /// The name of the function of that word for messages; the word if it is unknown.
    pub(super) fn name_of(&self, word: u64) -> String {
        match self.find(word) {
            Ok(function) => function.name().to_owned(),
            Err(name) => name.map_or_else(|| format!("{word:#x}"), str::to_owned),
        }
    }

    /// Adds a function of an image: `entry`, or only its `name`.
    pub(crate) fn insert(
        &mut self,
        word: u64,
        name: &str,
        entry: Option<&Arc<RegisteredFunction>>,
    ) {
        let slot = match entry {
            Some(entry) => Registration::Registered(Arc::clone(entry)),
            None => Registration::Unregistered(name.to_owned()),
        };
        match self.by_word.binary_search_by_key(&word, |&(word, _)| word) {
            Ok(i) => self.by_word[i].1 = slot,
            Err(i) => self.by_word.insert(i, (word, slot)),
        }
    }

    /// Removes a function.
    pub(crate) fn remove(&mut self, word: u64) {
        self.by_word.retain(|&(other, _)| other != word);
    }
}
