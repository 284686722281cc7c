//! Calling host regions.
//!
//! libgomp finds the function, and knows the data that the program has mapped. Data that libgomp
//! cannot have mapped (a device thread's stack, a kernel's allocations) is mapped by
//! [`revoff_host::map`], without libgomp's locks and with concurrent copies. libgomp then gets a call
//! without arguments to map, and takes its lock of the device only to look the function up.
//!
//! If libgomp maps arguments, it gets our own arrays, in which `firstprivate` bytes are a pointer
//! that is passed unchanged: libgomp (GCC 13 to 16) passes the device's address if the type is
//! aligned to more than a byte.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use revoff_host::map::Arg;
use revoff_host::ranges::OuterRanges;
use revoff_host::{ForeignError, ForeignFunction, RequestMemory};
use shared_abi::map_kind::MapKind;

use crate::abort::{self, Name};
use crate::device::Device;
use crate::error::{Error, PrivateError, Result};
use crate::libgomp::libgomp;

/// Size of a pointer, on the device too.
const POINTER: u64 = 8;

/// A host region, by the word that represents it on the device.
pub(crate) struct HostRegion {
    device: Weak<Device>,
    word: u64,
    /// The name in the source.
    name: &'static Name,
    /// The state of its image.
    locked: Arc<Locked>,
}

/// Whether libgomp holds its lock of the device until a kernel of an image has ended: constructors
/// or destructors. Kernels of other images may be running, and continue when the lock is free.
#[derive(Default)]
pub(crate) struct Locked(AtomicBool);

impl Locked {
    /// Runs `kernels`, for which libgomp waits.
    pub(crate) fn during<R>(&self, kernels: impl FnOnce() -> R) -> R {
        // Relaxed, both: the launch of a kernel orders it before the kernel's calls, and these
        // before its end.
        self.0.store(true, Ordering::Relaxed);
        let result = kernels();
        self.0.store(false, Ordering::Relaxed);
        result
    }
}

impl HostRegion {
    pub(crate) fn new(device: &Arc<Device>, word: u64, name: &str, locked: &Arc<Locked>) -> Self {
        Self {
            device: Arc::downgrade(device),
            word,
            name: Name::new(name.to_owned()),
            locked: Arc::clone(locked),
        }
    }

    /// The device, if libgomp can run the region there.
    fn device(&self) -> Result<Arc<Device>> {
        // Relaxed: see `Locked::during`.
        if self.locked.0.load(Ordering::Relaxed) {
            return Err(Error::InConstructor(self.name.text()));
        }
        let device = self.device.upgrade();
        device.ok_or(Error::NoLongerOpen(self.name.text()))
    }

    /// Calls the region with arguments that libgomp maps.
    fn call_with_mapping(&self, args: &[Arg], memory: Rc<dyn RequestMemory>) -> Result<()> {
        let device = self.device()?;
        let mut addresses: Vec<u64> = args.iter().map(|arg| arg.addr).collect();
        let sizes: Vec<u64> = args.iter().map(|arg| arg.size).collect();
        let mut kinds: Vec<u16> = args.iter().map(|arg| arg.kind.0).collect();
        let mut private = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            if arg.kind.plain() != MapKind::FIRSTPRIVATE || arg.addr == 0 {
                continue;
            }
            let copy = Private::fetch(arg, &*memory)?;
            addresses[at] = copy.place.as_ptr().expose_provenance() as u64;
            kinds[at] = MapKind::FIRSTPRIVATE_INT.0;
            private.push(copy);
        }
        let arrays = [
            Array::of(&addresses, u64::to_ne_bytes),
            Array::of(&sizes, u64::to_ne_bytes),
            Array::of(&kinds, u16::to_ne_bytes),
        ];
        let places = arrays.each_ref().map(Array::address);
        let number = device.number();
        let serving = Serving {
            device,
            memory,
            arrays,
            _private: private,
        };
        serving.during(|| {
            abort::within(self.name, || {
                // SAFETY: `dev2host` finds the arrays in `SERVING`.
                unsafe { libgomp().target_rev(self.word, args.len() as u64, places, number) }
            });
        });
        Ok(())
    }

    /// Calls the region with pointers to data on the host.
    ///
    /// # Safety
    /// The region can use the pointers.
    unsafe fn call_with_pointers(&self, pointers: &mut [*mut c_void]) -> Result<()> {
        let device = self.device()?;
        let places = [pointers.as_mut_ptr().expose_provenance() as u64, 0, 0];
        abort::within(self.name, || {
            // SAFETY: without arguments to map, libgomp passes the address on to the function, for
            // which our caller vouches.
            unsafe { libgomp().target_rev(self.word, 0, places, device.number()) }
        });
        Ok(())
    }
}

impl ForeignFunction for HostRegion {
    fn normalize_kinds(&self, args: &mut [Arg]) {
        if let Ok(device) = self.device() {
            unmapped_sections_to_values(&device, args);
        }
    }

    fn must_map(&self, args: &[Arg]) -> bool {
        let Ok(device) = self.device() else {
            return false;
        };
        args.iter()
            .enumerate()
            .any(|(at, arg)| match arg.kind.plain() {
                MapKind::FIRSTPRIVATE | MapKind::FIRSTPRIVATE_INT | MapKind::STRUCT => false,
                MapKind::TO_PSET if is_of_previous(args, at) => {
                    device.may_be_mapped(arg.addr, arg.size)
                }
                // The host learns a descriptor's target from the descriptor.
                MapKind::TO_PSET => true,
                MapKind::ATTACH | MapKind::POINTER | MapKind::ALWAYS_POINTER => {
                    device.may_be_mapped(arg.addr.wrapping_add(arg.size), POINTER)
                }
                _ => device.may_be_mapped(arg.addr, arg.size),
            })
    }

    fn may_have_mapped(&self, addr: u64, size: u64) -> bool {
        self.device()
            .is_ok_and(|device| device.may_be_mapped(addr, size))
    }

    fn call_mapping(
        &self,
        args: &[Arg],
        memory: Rc<dyn RequestMemory>,
    ) -> Result<(), ForeignError> {
        Ok(self.call_with_mapping(args, memory)?)
    }

    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), ForeignError> {
        // SAFETY: the caller promises that the region can use the pointers.
        Ok(unsafe { self.call_with_pointers(pointers) }?)
    }
}

/// Whether the descriptor `args[at]` is one of the data before it, as GCC passes arrays of Fortran:
/// the data, the descriptor, and the pointer in the descriptor. libgomp 14 may set this pointer to the
/// copy of the descriptor, depending on their addresses, so it maps them only if it has to.
fn is_of_previous(args: &[Arg], at: usize) -> bool {
    let Some([data, _, pointer]) = at.checked_sub(1).and_then(|at| args.get(at..at + 3)) else {
        return false;
    };
    let is_data = data.size > 0 && (data.kind.reads_device() || data.kind.writes_device());
    let is_pointer = matches!(
        pointer.kind.plain(),
        MapKind::POINTER | MapKind::ALWAYS_POINTER
    );
    is_data && is_pointer && pointer.addr == args[at].addr
}

/// Turns sections of length zero of data that is not mapped into values: GCC passes them for pointers
/// that a region uses without a clause, such as a `FILE *`, and OpenMP requires that these keep
/// their values. libgomp would give the region the address of an empty allocation.
fn unmapped_sections_to_values(device: &Device, args: &mut [Arg]) {
    let is_section =
        |arg: &Arg| arg.kind.plain() == MapKind::ZERO_LEN_ARRAY_SECTION && arg.size == 0;
    if !args.iter().any(is_section) {
        return;
    }
    let mut data = OuterRanges::new();
    for arg in args.iter() {
        if !matches!(
            arg.kind.plain(),
            MapKind::FIRSTPRIVATE_INT | MapKind::ZERO_LEN_ARRAY_SECTION
        ) {
            data.insert(arg.addr, arg.size);
        }
    }
    for arg in args.iter_mut().filter(|arg| is_section(arg)) {
        // libgomp's look-up also matches data that ends there.
        if !device.may_be_mapped(arg.addr, 0)
            && !device.may_be_mapped(arg.addr, 1)
            && !data.contains(arg.addr, 0)
        {
            arg.kind = MapKind::FIRSTPRIVATE_INT;
        }
    }
}

/// A function's own copy of a `firstprivate` argument.
struct Private {
    place: NonNull<u8>,
    layout: Layout,
}

impl Private {
    fn fetch(arg: &Arg, memory: &dyn RequestMemory) -> Result<Self, PrivateError> {
        let align = 1usize.checked_shl(u32::from(arg.kind.0 >> 8)).unwrap_or(0);
        let bytes = usize::try_from(arg.size).unwrap_or(usize::MAX);
        let layout = Layout::from_size_align(bytes.max(1), align);
        let layout = layout.map_err(|_| PrivateError::Layout { bytes, align })?;
        // SAFETY: the size is not 0.
        let place = NonNull::new(unsafe { alloc(layout) });
        let place = place.ok_or(PrivateError::NoMemory(bytes))?;
        let copy = Self { place, layout };
        // SAFETY: `place` has this many bytes.
        let read = unsafe { memory.read(place.as_ptr(), arg.addr, bytes) };
        read.map_err(PrivateError::Read)?;
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
struct Array(Vec<u8>);

impl Array {
    fn of<T: Copy, const N: usize>(values: &[T], to_bytes: impl Fn(T) -> [u8; N]) -> Self {
        Self(values.iter().flat_map(|&value| to_bytes(value)).collect())
    }

    /// Where libgomp takes it to be.
    fn address(&self) -> u64 {
        self.0.as_ptr().addr() as u64
    }

    /// The `bytes` bytes at `address`, if all of them are in the array.
    fn get(&self, address: u64, bytes: usize) -> Option<&[u8]> {
        let start = usize::try_from(address.checked_sub(self.address())?).ok()?;
        self.0.get(start..start.checked_add(bytes)?)
    }
}

/// A call whose arguments libgomp maps, with all that libgomp needs during the call.
struct Serving {
    device: Arc<Device>,
    memory: Rc<dyn RequestMemory>,
    arrays: [Array; 3],
    /// Copies whose addresses are arguments of the function.
    _private: Vec<Private>,
}

thread_local! {
    /// The innermost call of this thread whose arguments libgomp maps. libgomp copies by functions
    /// that get no context: [`read`] and [`write`] find it here.
    static SERVING: RefCell<Option<Serving>> = const { RefCell::new(None) };
}

impl Serving {
    /// Runs `call`, in which this thread's copies belong to this request.
    fn during(self, call: impl FnOnce()) {
        /// Restores the previous call.
        struct Restore(Option<Serving>);
        impl Drop for Restore {
            fn drop(&mut self) {
                drop(SERVING.replace(self.0.take()));
            }
        }
        let _restore = Restore(SERVING.replace(Some(self)));
        call();
    }

    /// Calls `with` with the innermost call of this thread whose arguments libgomp maps, if any.
    fn innermost<R>(with: impl FnOnce(&Self) -> Option<R>) -> Option<R> {
        // A thread that has destroyed it serves no call.
        let found = SERVING.try_with(|serving| serving.borrow().as_ref().and_then(with));
        found.ok().flatten()
    }

    /// Whether a copy belongs to the call: on its device, of data that the program has not mapped.
    fn is_for(&self, ord: i32, address: u64, bytes: usize) -> bool {
        usize::try_from(ord) == Ok(self.device.ord)
            && !self.device.may_be_mapped(address, bytes as u64)
    }
}

/// Copies from device `ord` for libgomp, if it is for a call of this thread whose arguments libgomp
/// maps: from our arrays, and from data that came with the call. Data that the program has mapped
/// is copied from the device, even if it came with the call, since the host function may request it
/// too.
///
/// # Safety
/// `to` is writable for `bytes` bytes.
pub(crate) unsafe fn read(ord: i32, to: *mut u8, from: u64, bytes: usize) -> Option<Result<()>> {
    Serving::innermost(|serving| {
        let mut arrays = serving.arrays.iter();
        if let Some(ours) = arrays.find_map(|array| array.get(from, bytes)) {
            // SAFETY: the caller promises that `to` is writable for `bytes` bytes.
            unsafe { to.copy_from_nonoverlapping(ours.as_ptr(), bytes) };
            return Some(Ok(()));
        }
        serving.is_for(ord, from, bytes).then(|| {
            // SAFETY: the caller promises that `to` is writable for `bytes` bytes.
            let read = unsafe { serving.memory.read(to, from, bytes) };
            Ok(read?)
        })
    })
}

/// Copies to device `ord` for libgomp, if it is for a call of this thread whose arguments libgomp
/// maps.
///
/// # Safety
/// `from` is readable for `bytes` bytes.
pub(crate) unsafe fn write(ord: i32, to: u64, from: *const u8, bytes: usize) -> Option<Result<()>> {
    Serving::innermost(|serving| {
        serving.is_for(ord, to, bytes).then(|| {
            // SAFETY: the caller promises that `from` is readable for `bytes` bytes.
            let written = unsafe { serving.memory.write(to, from, bytes) };
            Ok(written?)
        })
    })
}

#[cfg(test)]
mod tests {
    use revoff_host::device::DeviceError;

    use super::*;

    fn arg(addr: u64, size: u64, kind: MapKind) -> Arg {
        Arg::new(addr, size, kind)
    }

    #[test]
    fn who_maps_is_decided_by_kind_and_place() {
        let device = Arc::new(Device::open(0, "emu").unwrap());
        let a = device.alloc(64).unwrap();
        let region = HostRegion::new(&device, 1, "main._omp_fn.1", &Arc::default());
        for (arg, by_libgomp) in [
            (arg(a, 8, MapKind::TO), true),
            (arg(a, 8, MapKind::TOFROM.with_align(8)), true),
            (arg(a + 64, 8, MapKind::TO), false),
            (arg(a, 8, MapKind::FIRSTPRIVATE), false),
            (arg(a, 8, MapKind::FIRSTPRIVATE_INT), false),
            (arg(a, 1, MapKind::STRUCT), false),
            (arg(8, 24, MapKind::TO_PSET), true),
            // The size is the distance of the pointer from the address.
            (arg(a - 8, 8, MapKind::ATTACH), true),
            (arg(a - 8, 0, MapKind::ATTACH), false),
            (arg(a - 8, 0, MapKind::POINTER), false),
            (arg(a + 60, 0, MapKind::ALWAYS_POINTER), true),
        ] {
            assert_eq!(region.must_map(&[arg]), by_libgomp, "{arg:?}");
            // One mapped argument is enough.
            let other = super::tests::arg(16, 8, MapKind::TO);
            assert_eq!(region.must_map(&[other, arg]), by_libgomp, "{arg:?}");
        }
        for (data, descriptor, by_libgomp) in
            [(16, 4096, false), (a, 4096, true), (16, a + 8, true)]
        {
            let args = [
                arg(data, 8, MapKind::TOFROM),
                arg(descriptor, 24, MapKind::TO_PSET),
                arg(descriptor, 0, MapKind::ALWAYS_POINTER),
            ];
            assert_eq!(region.must_map(&args), by_libgomp, "{args:?}");
        }
    }

    #[test]
    fn constructors_do_not_wait_for_libgomps_lock() {
        /// The memory of a request without data.
        struct Nothing;
        impl RequestMemory for Nothing {
            unsafe fn read(&self, _: *mut u8, _: u64, _: usize) -> Result<(), DeviceError> {
                unreachable!("nothing is read")
            }
            unsafe fn write(&self, _: u64, _: *const u8, _: usize) -> Result<(), DeviceError> {
                unreachable!("nothing is written")
            }
        }
        let device = Arc::new(Device::open(0, "emu").unwrap());
        let locked = Arc::default();
        let region = HostRegion::new(&device, 1, "main._omp_fn.1", &locked);
        let calls = || {
            // SAFETY: there are no pointers.
            let ready = unsafe { region.call(&mut []) };
            [ready, region.call_mapping(&[], Rc::new(Nothing))]
        };
        for call in locked.during(calls) {
            let error = call.unwrap_err().to_string();
            let texts = ["main._omp_fn.1", "constructor", "lock"];
            assert!(texts.iter().all(|text| error.contains(text)), "{error}");
        }
        assert!(region.device().is_ok());
    }

    #[test]
    fn pointers_to_nothing_that_is_mapped_keep_their_values() {
        let device = Device::open(0, "emu").unwrap();
        let a = device.alloc(64).unwrap();
        let data = arg(4096, 8, MapKind::TO);
        for (addr, size, is_kept) in [
            (16, 0, true),
            (a + 65, 0, true),
            (4105, 0, true),
            (16, 4, false),
            (a, 0, false),
            (a + 64, 0, false),
            (4096, 0, false),
            (4104, 0, false),
        ] {
            let section = MapKind::ZERO_LEN_ARRAY_SECTION.with_align(4);
            let mut args = [arg(addr, size, section), data];
            unmapped_sections_to_values(&device, &mut args);
            let is_value = args[0].kind == MapKind::FIRSTPRIVATE_INT;
            assert_eq!(is_value, is_kept, "{size} bytes at {addr:#x}");
            assert_eq!((args[0].addr, args[1].kind), (addr, MapKind::TO));
        }
    }
}
