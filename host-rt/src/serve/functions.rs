//! The host functions that kernels may call.

use std::ffi::c_void;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use host_fn::{HostFunction, RawArg};

use crate::device::DeviceError;
use crate::wire::Arg;

/// A host function as C has it: one pointer to the argument addresses.
pub type RawFunction = unsafe extern "C" fn(*mut *mut c_void);

/// A host function of another runtime, which knows what device memory has originals on
/// the host: libgomp, for functions that GCC made of target regions.
pub trait ForeignFunction: Send + Sync {
    /// Whether the other runtime is to map these arguments, because some may lie in
    /// memory that it has mapped. Gives arguments another kind where they mean something
    /// else to it.
    fn maps(&self, args: &mut [Arg]) -> bool;

    /// Maps the arguments, runs the function, and copies back what is to be. The
    /// arguments hang together as their kinds say, within the limits of a request: a
    /// structure's members and a descriptor's pointers are all there.
    ///
    /// # Errors
    /// Why it did not run.
    fn call_mapping(&self, args: &[Arg], memory: &mut dyn RequestMemory) -> Result<(), String>;

    /// Runs the function with arguments that are mapped.
    ///
    /// # Safety
    /// Each pointer is what the function expects in its place, and valid during the call.
    ///
    /// # Errors
    /// Why it did not run.
    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), String>;
}

/// Device memory as it is reached while a request is served: what the request carries is
/// there, everything else on the device.
pub trait RequestMemory {
    /// Copies `len` bytes at device address `from` to `to`.
    ///
    /// # Safety
    /// `to` is writable for `len` bytes.
    ///
    /// # Errors
    /// The host does not reach the range.
    unsafe fn read(&mut self, to: *mut u8, from: u64, len: usize) -> Result<(), DeviceError>;

    /// Copies `len` bytes at `from` to device address `to`.
    ///
    /// # Safety
    /// `from` is readable for `len` bytes.
    ///
    /// # Errors
    /// The host does not reach the range.
    unsafe fn write(&mut self, to: u64, from: *const u8, len: usize) -> Result<(), DeviceError>;
}

enum Callee {
    Typed(Box<dyn HostFunction>),
    Raw(RawFunction),
    Foreign(Arc<dyn ForeignFunction>),
}

/// A registered function, and what is known of it.
pub(crate) struct Entry {
    name: String,
    callee: Callee,
    /// Calls so far, roughly: threads may overwrite each other's count.
    calls: AtomicU32,
    /// Whether waking another thread to poll costs little beside a call.
    slow: AtomicBool,
}

impl fmt::Debug for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// From here on a call is worth a second thread: some times the cost of a wake.
const SLOW: Duration = Duration::from_micros(5);

/// One call in so many is timed.
const SAMPLE: u32 = 16;

/// Why a function has no result.
pub(crate) enum Failed {
    /// The arguments do not fit; it did not run.
    Refused(String),
    /// It ran and failed.
    Function(String),
}

impl Entry {
    fn new(name: String, callee: Callee) -> Self {
        Self {
            name,
            callee,
            calls: AtomicU32::new(0),
            slow: AtomicBool::new(true),
        }
    }

    /// A function with a declaration.
    pub(crate) fn typed(name: String, function: Box<dyn HostFunction>) -> Self {
        Self::new(name, Callee::Typed(function))
    }

    /// A function of C, which whoever adds it vouches for.
    pub(crate) fn raw(name: String, function: RawFunction) -> Self {
        Self::new(name, Callee::Raw(function))
    }

    /// A function of another runtime.
    pub(crate) fn foreign(name: &str, function: Arc<dyn ForeignFunction>) -> Self {
        Self::new(name.to_owned(), Callee::Foreign(function))
    }

    /// Whether it is another runtime's, which wants to map these arguments.
    pub(crate) fn maps(&self, args: &mut [Arg]) -> bool {
        match &self.callee {
            Callee::Foreign(function) => function.maps(args),
            Callee::Typed(_) | Callee::Raw(_) => false,
        }
    }

    /// Has the other runtime map the arguments and run the function.
    pub(crate) fn call_mapping(
        &self,
        args: &[Arg],
        memory: &mut dyn RequestMemory,
    ) -> Result<(), Failed> {
        let Callee::Foreign(function) = &self.callee else {
            unreachable!("`maps` was asked")
        };
        let called = self.timed(|| function.call_mapping(args, memory));
        called.map_err(Failed::Refused)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Hash of its declaration; 0 if it has none.
    pub(crate) fn signature(&self) -> u64 {
        match &self.callee {
            Callee::Typed(function) => function.signature(),
            Callee::Raw(_) | Callee::Foreign(_) => 0,
        }
    }

    /// Whether it builds references from its arguments, which must then be its own.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self.callee, Callee::Typed(_))
    }

    /// Whether calls have been slow lately. A function counts as slow until it
    /// has been seen to be fast.
    pub(crate) fn is_slow(&self) -> bool {
        // Relaxed: advisory.
        self.slow.load(Ordering::Relaxed)
    }

    /// Runs the function, and times it now and then.
    ///
    /// # Safety
    /// `pointers` and `args` describe the same memory, which is valid as
    /// [`HostFunction::call`] asks.
    pub(crate) unsafe fn call(
        &self,
        pointers: &mut [*mut c_void],
        args: &[RawArg],
    ) -> Result<(), Failed> {
        self.timed(|| match &self.callee {
            Callee::Raw(function) => {
                // SAFETY: `add_raw`'s caller vouched for the function, ours for
                // the memory.
                unsafe { function(pointers.as_mut_ptr()) };
                Ok(())
            }
            Callee::Foreign(function) => {
                // SAFETY: our caller vouches for the memory.
                unsafe { function.call(pointers) }.map_err(Failed::Refused)
            }
            Callee::Typed(function) => {
                let mut message = String::new();
                // SAFETY: our caller vouches for the memory.
                match unsafe { function.call(args, &mut message) } {
                    Ok(()) => Ok(()),
                    Err(host_fn::Failure::Function) => Err(Failed::Function(message)),
                    Err(failure) => Err(Failed::Refused(failure.to_string())),
                }
            }
        })
    }

    /// Runs `call`, which runs the function, and times it now and then.
    fn timed<R>(&self, call: impl FnOnce() -> R) -> R {
        // Relaxed: a rough count.
        let calls = self.calls.load(Ordering::Relaxed);
        self.calls.store(calls.wrapping_add(1), Ordering::Relaxed);
        let start = calls.is_multiple_of(SAMPLE).then(Instant::now);
        let result = call();
        if let Some(start) = start {
            // Relaxed: advisory.
            self.slow.store(start.elapsed() >= SLOW, Ordering::Relaxed);
        }
        result
    }
}

/// The functions of all loaded images, by function word.
#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionTable {
    /// Sorted by word.
    by_word: Vec<(u64, Slot)>,
}

#[derive(Clone, Debug)]
enum Slot {
    Known(Arc<Entry>),
    /// An image names it, nobody registered it.
    Unregistered(String),
}

impl FunctionTable {
    /// The function of that word, or else its name if an image has one for it.
    pub(crate) fn find(&self, word: u64) -> Result<&Arc<Entry>, Option<&str>> {
        match self.by_word.binary_search_by_key(&word, |&(word, _)| word) {
            Ok(i) => match &self.by_word[i].1 {
                Slot::Known(entry) => Ok(entry),
                Slot::Unregistered(name) => Err(Some(name)),
            },
            Err(_) => Err(None),
        }
    }

    /// Adds a function of an image: `entry`, or only its `name`.
    pub(crate) fn insert(&mut self, word: u64, name: &str, entry: Option<&Arc<Entry>>) {
        let slot = match entry {
            Some(entry) => Slot::Known(Arc::clone(entry)),
            None => Slot::Unregistered(name.to_owned()),
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
