//! Calling what a region runs on the host.
//!
//! The function is libgomp's to find, and what the program has mapped is libgomp's to
//! know. What libgomp cannot have mapped (a device thread's stack, what a kernel has
//! allocated) is mapped by [`host_rt::map`], which takes no lock of libgomp's and has its
//! copies under way together; libgomp is then given arguments that are ready, as a call
//! without any.
//!
//! Where libgomp maps, it is given arrays of ours, in which the bytes of `firstprivate` are
//! a pointer that is passed as it is: libgomp (GCC 13 to 16) passes the device's address
//! where the type is aligned to more than a byte.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

use host_rt::map::Arg;
use host_rt::{ForeignFunction, RequestMemory};
use shared_abi::map_kind::MapKind;

use crate::abort;
use crate::device::Device;
use crate::libgomp::libgomp;

/// Size of a pointer, on the device too.
const POINTER: u64 = 8;

/// A region of the host, by the word that stands for it on the device.
pub(crate) struct HostRegion {
    device: Weak<Device>,
    word: u64,
    /// In the words of the source.
    name: String,
}

impl HostRegion {
    pub(crate) fn new(device: &Arc<Device>, word: u64, name: &str) -> Self {
        Self {
            device: Arc::downgrade(device),
            word,
            name: name.to_owned(),
        }
    }

    fn device(&self) -> Result<Arc<Device>, String> {
        self.device
            .upgrade()
            .ok_or_else(|| "its device was given up".to_owned())
    }
}

impl ForeignFunction for HostRegion {
    fn maps(&self, args: &[Arg]) -> bool {
        let Ok(device) = self.device() else {
            return false;
        };
        args.iter().any(|arg| match base(arg.kind) {
            MapKind::FIRSTPRIVATE | MapKind::FIRSTPRIVATE_INT | MapKind::STRUCT => false,
            // What a descriptor points to, the host learns when it has the descriptor.
            MapKind::TO_PSET => true,
            MapKind::ATTACH | MapKind::POINTER | MapKind::ALWAYS_POINTER => {
                device.may_be_mapped(arg.addr.wrapping_add(arg.size), POINTER)
            }
            _ => device.may_be_mapped(arg.addr, arg.size),
        })
    }

    fn call_mapping(&self, args: &[Arg], memory: &mut dyn RequestMemory) -> Result<(), String> {
        let device = self.device()?;
        let mut addresses: Vec<u64> = args.iter().map(|arg| arg.addr).collect();
        let sizes: Vec<u64> = args.iter().map(|arg| arg.size).collect();
        let mut kinds: Vec<u16> = args.iter().map(|arg| arg.kind.0).collect();
        let mut private = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            if base(arg.kind) != MapKind::FIRSTPRIVATE || arg.addr == 0 {
                continue;
            }
            let copy = Private::fetch(arg, memory)?;
            addresses[at] = copy.place.as_ptr().addr() as u64;
            kinds[at] = MapKind::FIRSTPRIVATE_INT.0;
            private.push(copy);
        }
        let arrays = [Array::of(&addresses), Array::of(&sizes), Array::of(&kinds)];
        let places = arrays.map(|array| array.start as u64);
        let serving = Serving { memory, arrays };
        serving.during(|| {
            abort::within(&self.name, || {
                // SAFETY: the arrays are where `dev2host` finds them while we serve.
                unsafe {
                    libgomp().target_rev(self.word, args.len() as u64, places, device.number())
                }
            });
        });
        Ok(())
    }

    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), String> {
        let device = self.device()?;
        let places = [pointers.as_mut_ptr().addr() as u64, 0, 0];
        abort::within(&self.name, || {
            // SAFETY: without arguments to map, libgomp passes the address on to the
            // function, for which our caller vouches.
            unsafe { libgomp().target_rev(self.word, 0, places, device.number()) }
        });
        Ok(())
    }
}

fn base(kind: MapKind) -> MapKind {
    MapKind(kind.base())
}

/// A function's own copy of what it has as `firstprivate`.
struct Private {
    place: NonNull<u8>,
    layout: Layout,
}

impl Private {
    fn fetch(arg: &Arg, memory: &mut dyn RequestMemory) -> Result<Self, String> {
        let align = 1usize.checked_shl(u32::from(arg.kind.0 >> 8)).unwrap_or(0);
        let bytes = usize::try_from(arg.size).unwrap_or(usize::MAX);
        let layout = Layout::from_size_align(bytes.max(1), align);
        let layout = layout
            .map_err(|_| format!("a firstprivate argument of {bytes} bytes, aligned to {align}"))?;
        // SAFETY: the size is not 0.
        let place = NonNull::new(unsafe { alloc(layout) });
        let Some(place) = place else {
            handle_alloc_error(layout)
        };
        let copy = Self { place, layout };
        // SAFETY: as many bytes.
        let read = unsafe { memory.read(place.as_ptr(), arg.addr, bytes) };
        read.map_err(|error| format!("a firstprivate argument: {error}"))?;
        Ok(copy)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // SAFETY: allocated with that layout.
        unsafe { dealloc(self.place.as_ptr(), self.layout) };
    }
}

/// An array of ours, which libgomp takes to be on the device.
#[derive(Clone, Copy)]
struct Array {
    start: usize,
    bytes: usize,
}

impl Array {
    fn of<T>(values: &[T]) -> Self {
        Self {
            start: values.as_ptr().addr(),
            bytes: size_of_val(values),
        }
    }

    fn contains(&self, start: usize, bytes: usize) -> bool {
        start
            .checked_sub(self.start)
            .and_then(|offset| offset.checked_add(bytes))
            .is_some_and(|end| end <= self.bytes)
    }
}

/// A call that this thread has libgomp map.
struct Serving<'a> {
    memory: &'a mut dyn RequestMemory,
    arrays: [Array; 3],
}

thread_local! {
    /// The innermost, for the time that libgomp works on it.
    static SERVING: Cell<Option<NonNull<c_void>>> = const { Cell::new(None) };
}

impl Serving<'_> {
    /// Runs `call`, in which this thread's copies are those of this request.
    fn during(mut self, call: impl FnOnce()) {
        /// Puts back what there was.
        struct Restore(Option<NonNull<c_void>>);
        impl Drop for Restore {
            fn drop(&mut self) {
                SERVING.set(self.0);
            }
        }
        let this = NonNull::from(&mut self).cast();
        let _restore = Restore(SERVING.replace(Some(this)));
        call();
    }

    /// Runs `with` with the innermost call that this thread has libgomp map, if any.
    fn innermost<R>(with: impl FnOnce(&mut Serving<'_>) -> R) -> Option<R> {
        // Taken meanwhile: `with` has it alone.
        let this = SERVING.take()?;
        // SAFETY: `during` has set it, on this thread, and has not returned; it does not
        // use what is taken out of the cell.
        let result = with(unsafe { this.cast::<Serving<'_>>().as_mut() });
        SERVING.set(Some(this));
        Some(result)
    }
}

/// Copies from the device for libgomp, if this thread serves a call: from what the call
/// has brought along, or from the device.
///
/// # Safety
/// `to` is writable for `bytes` bytes.
pub(crate) unsafe fn read(to: *mut u8, from: u64, bytes: usize) -> Option<Result<(), String>> {
    Serving::innermost(|serving| {
        let is_ours = serving
            .arrays
            .iter()
            .any(|array| array.contains(from as usize, bytes));
        if is_ours {
            let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
            // SAFETY: the range is in an array that `call_mapping` keeps during the call.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            return Ok(());
        }
        // SAFETY: passed on.
        let read = unsafe { serving.memory.read(to, from, bytes) };
        read.map_err(|error| error.to_string())
    })
}

/// Copies to the device for libgomp, if this thread serves a call.
///
/// # Safety
/// `from` is readable for `bytes` bytes.
pub(crate) unsafe fn write(to: u64, from: *const u8, bytes: usize) -> Option<Result<(), String>> {
    Serving::innermost(|serving| {
        // SAFETY: passed on.
        let written = unsafe { serving.memory.write(to, from, bytes) };
        written.map_err(|error| error.to_string())
    })
}
