//! Calling host regions.
//!
//! libgomp finds the function, and knows the data that the program has mapped. Data that libgomp
//! cannot have mapped (a device thread's stack, a kernel's allocations) is mapped by
//! [`host_rt::map`], without libgomp's locks and with concurrent copies. libgomp then gets a call
//! without arguments to map, and takes its lock of the device only to look the function up.
//!
//! If libgomp maps arguments, it gets our own arrays, in which `firstprivate` bytes are a pointer
//! that is passed unchanged: libgomp (GCC 13 to 16) passes the device's address if the type is
//! aligned to more than a byte.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use host_rt::map::Arg;
use host_rt::ranges::AddrRange;
use host_rt::{ForeignError, ForeignFunction, RequestMemory};
use shared_abi::map_kind::MapKind;

use crate::abort::{self, Name};
use crate::device::Device;
use crate::error::{ArgError, Error, PrivateError, Result};
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
        self.device.upgrade().ok_or(Error::NoLongerOpen)
    }

    /// Calls the region with arguments that libgomp maps.
    fn call_with_mapping(&self, args: &[Arg], memory: &mut dyn RequestMemory) -> Result<()> {
        let device = self.device()?;
        check(&device, args)?;
        let mut addresses: Vec<u64> = args.iter().map(|arg| arg.addr).collect();
        let sizes: Vec<u64> = args.iter().map(|arg| arg.size).collect();
        let mut kinds: Vec<u16> = args.iter().map(|arg| arg.kind.0).collect();
        let mut private = Vec::new();
        for (at, arg) in args.iter().enumerate() {
            if arg.kind.plain() != MapKind::FIRSTPRIVATE || arg.addr == 0 {
                continue;
            }
            let copy = Private::fetch(arg, memory)?;
            addresses[at] = copy.place.as_ptr().expose_provenance() as u64;
            kinds[at] = MapKind::FIRSTPRIVATE_INT.0;
            private.push(copy);
        }
        let arrays = [
            AddrRange::of(&*addresses),
            AddrRange::of(&*sizes),
            AddrRange::of(&*kinds),
        ];
        // libgomp passes them back as numbers, see `read`.
        let places = [
            addresses.as_ptr().expose_provenance() as u64,
            sizes.as_ptr().expose_provenance() as u64,
            kinds.as_ptr().expose_provenance() as u64,
        ];
        let number = device.number();
        let serving = Serving {
            device,
            memory,
            arrays,
        };
        serving.during(|| {
            abort::within(self.name, || {
                // SAFETY: `dev2host` finds the arrays while `SERVING` is set.
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
    fn maps(&self, args: &mut [Arg]) -> bool {
        let Ok(device) = self.device() else {
            return false;
        };
        retain(&device, args);
        args.iter().any(|arg| match arg.kind.plain() {
            MapKind::FIRSTPRIVATE | MapKind::FIRSTPRIVATE_INT | MapKind::STRUCT => false,
            // The host learns a descriptor's target from the descriptor.
            MapKind::TO_PSET => true,
            MapKind::ATTACH | MapKind::POINTER | MapKind::ALWAYS_POINTER => {
                device.may_be_mapped(arg.addr.wrapping_add(arg.size), POINTER)
            }
            _ => device.may_be_mapped(arg.addr, arg.size),
        })
    }

    fn call_mapping(
        &self,
        args: &[Arg],
        memory: &mut dyn RequestMemory,
    ) -> Result<(), ForeignError> {
        Ok(self.call_with_mapping(args, memory)?)
    }

    unsafe fn call(&self, pointers: &mut [*mut c_void]) -> Result<(), ForeignError> {
        // SAFETY: the caller promises that the region can use the pointers.
        Ok(unsafe { self.call_with_pointers(pointers) }?)
    }
}

/// Lets pointers without mapped targets keep their values, as OpenMP requires: GCC passes sections
/// of length zero for pointers that a region uses without a clause, such as a `FILE *`. libgomp
/// would give the region the address of an empty allocation.
fn retain(device: &Device, args: &mut [Arg]) {
    for at in 0..args.len() {
        let Arg {
            addr, size, kind, ..
        } = args[at];
        if kind.plain() != MapKind::ZERO_LEN_ARRAY_SECTION || size > 0 {
            continue;
        }
        let is_in = |other: &Arg| {
            let is_data = !matches!(
                other.kind.plain(),
                MapKind::FIRSTPRIVATE_INT | MapKind::ZERO_LEN_ARRAY_SECTION
            );
            is_data
                && addr
                    .checked_sub(other.addr)
                    .is_some_and(|offset| offset <= other.size)
        };
        // libgomp's look-up also matches data that ends there.
        if !device.may_be_mapped(addr, 0)
            && !device.may_be_mapped(addr, 1)
            && !args.iter().any(is_in)
        {
            args[at].kind = MapKind::FIRSTPRIVATE_INT;
        }
    }
}

/// Rejects arguments that libgomp would trust a device with, beyond host-rt's checks: the length of
/// a structure, from its first to its last member; the positions of pointers in a descriptor that
/// is not present; and a pointer outside of all data, for which libgomp has 8 bytes.
fn check(device: &Device, args: &[Arg]) -> Result<()> {
    let mut descriptor: Option<&Arg> = None;
    for (at, arg) in args.iter().enumerate() {
        let refuse = |source| Err(Error::Arg { at, source });
        let kind = arg.kind.plain();
        let is_pointer = matches!(kind, MapKind::POINTER | MapKind::ALWAYS_POINTER);
        if !is_pointer {
            descriptor = None;
        }
        if arg.addr == 0 {
            continue;
        }
        match (kind, descriptor) {
            (MapKind::TO_PSET, _) => descriptor = Some(arg),
            (MapKind::STRUCT, _) => {
                let members = &args[at + 1..][..arg.size as usize];
                if let (Some(first), Some(last)) = (members.first(), members.last()) {
                    // The range that libgomp allocates for them and copies to.
                    let (start, end) = (first.addr, last.addr.saturating_add(last.size));
                    let is_in = |member: &Arg| {
                        let ends = member.addr.checked_add(member.size);
                        start <= member.addr && ends.is_some_and(|ends| ends <= end)
                    };
                    if start == 0 || last.addr == 0 || !members.iter().all(is_in) {
                        return refuse(ArgError::Members);
                    }
                }
            }
            (_, Some(header)) if is_pointer => {
                let is_in = arg.addr.checked_sub(arg.size) == Some(header.addr)
                    && arg.size.saturating_add(POINTER) <= header.size;
                if !is_in && !device.may_be_mapped(header.addr, header.size) {
                    return refuse(ArgError::Descriptor);
                }
            }
            _ if is_pointer || kind == MapKind::ATTACH => {
                let place = arg.addr.wrapping_add(arg.size);
                // Whether the bytes that libgomp allocates contain the other argument.
                let contains = |other: &Arg| {
                    let kind = other.kind.plain();
                    let has_bytes = kind.reads_device() || kind.writes_device();
                    let is_alone = matches!(
                        kind,
                        MapKind::ALLOC | MapKind::FORCE_ALLOC | MapKind::FORCE_PRESENT
                    );
                    if kind == MapKind::FIRSTPRIVATE || !(has_bytes || is_alone) {
                        return false;
                    }
                    AddrRange::new(other.addr, other.size)
                        .is_some_and(|other| other.has(place, POINTER))
                };
                let is_somewhere = args[..at].iter().any(contains);
                if arg.size > 0 && !is_somewhere && !device.may_be_mapped(place, POINTER) {
                    return refuse(ArgError::Pointer {
                        offset: arg.size,
                        addr: arg.addr,
                    });
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// A function's own copy of a `firstprivate` argument.
struct Private {
    place: NonNull<u8>,
    layout: Layout,
}

impl Private {
    fn fetch(arg: &Arg, memory: &mut dyn RequestMemory) -> Result<Self, PrivateError> {
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

/// A call of this thread whose arguments libgomp maps.
struct Serving<'a> {
    device: Arc<Device>,
    memory: &'a mut dyn RequestMemory,
    /// Our own arrays, which libgomp takes to be on the device.
    arrays: [AddrRange; 3],
}

thread_local! {
    /// The innermost, while libgomp works on it.
    static SERVING: Cell<Option<NonNull<c_void>>> = const { Cell::new(None) };
}

impl Serving<'_> {
    /// Runs `call`, in which this thread's copies belong to this request.
    fn during(mut self, call: impl FnOnce()) {
        /// Restores the previous call.
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

    /// Calls `with` with the innermost call of this thread whose arguments libgomp maps, if any.
    fn innermost<R>(with: impl FnOnce(&mut Serving<'_>) -> R) -> Option<R> {
        // Taken meanwhile, so that `with` has exclusive access.
        let this = SERVING.take()?;
        // SAFETY: `during` has set it, on this thread, and has not returned; it does not use a call
        // that was taken out of the cell.
        let result = with(unsafe { this.cast::<Serving<'_>>().as_mut() });
        SERVING.set(Some(this));
        Some(result)
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
    let served = Serving::innermost(|serving| {
        let is_ours = serving.arrays.iter().any(|array| array.has(from, bytes));
        if is_ours {
            let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
            // SAFETY: the range is in an array that `call_mapping` keeps during the call.
            unsafe { std::ptr::copy_nonoverlapping(from, to, bytes) };
            return Some(Ok(()));
        }
        serving.is_for(ord, from, bytes).then(|| {
            // SAFETY: the caller promises that `to` is writable for `bytes` bytes.
            let read = unsafe { serving.memory.read(to, from, bytes) };
            Ok(read?)
        })
    });
    served.flatten()
}

/// Copies to device `ord` for libgomp, if it is for a call of this thread whose arguments libgomp
/// maps.
///
/// # Safety
/// `from` is readable for `bytes` bytes.
pub(crate) unsafe fn write(ord: i32, to: u64, from: *const u8, bytes: usize) -> Option<Result<()>> {
    let served = Serving::innermost(|serving| {
        serving.is_for(ord, to, bytes).then(|| {
            // SAFETY: the caller promises that `from` is readable for `bytes` bytes.
            let written = unsafe { serving.memory.write(to, from, bytes) };
            Ok(written?)
        })
    });
    served.flatten()
}

impl Serving<'_> {
    /// Whether a copy belongs to the call: on its device, of data that the program has not mapped.
    fn is_for(&self, ord: i32, address: u64, bytes: usize) -> bool {
        usize::try_from(ord) == Ok(self.device.ord)
            && !self.device.may_be_mapped(address, bytes as u64)
    }
}

#[cfg(test)]
mod tests {
    use host_rt::error::DeviceError;

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
            assert_eq!(region.maps(&mut [arg]), by_libgomp, "{arg:?}");
            // One mapped argument is enough.
            let other = super::tests::arg(16, 8, MapKind::TO);
            assert_eq!(region.maps(&mut [other, arg]), by_libgomp, "{arg:?}");
        }
    }

    #[test]
    fn constructors_do_not_wait_for_libgomps_lock() {
        /// The memory of a request without data.
        struct Nothing;
        impl RequestMemory for Nothing {
            unsafe fn read(&mut self, _: *mut u8, _: u64, _: usize) -> Result<(), DeviceError> {
                unreachable!("nothing is read")
            }
            unsafe fn write(&mut self, _: u64, _: *const u8, _: usize) -> Result<(), DeviceError> {
                unreachable!("nothing is written")
            }
        }
        let device = Arc::new(Device::open(0, "emu").unwrap());
        let locked = Arc::default();
        let region = HostRegion::new(&device, 1, "main._omp_fn.1", &locked);
        let calls = || {
            // SAFETY: there are no pointers.
            let ready = unsafe { region.call(&mut []) };
            [ready, region.call_mapping(&[], &mut Nothing)]
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
            retain(&device, &mut args);
            let is_value = args[0].kind == MapKind::FIRSTPRIVATE_INT;
            assert_eq!(is_value, is_kept, "{size} bytes at {addr:#x}");
            assert_eq!((args[0].addr, args[1].kind), (addr, MapKind::TO));
        }
    }

    #[test]
    fn what_libgomp_would_believe_is_refused() {
        let device = Device::open(0, "emu").unwrap();
        let a = device.alloc(64).unwrap();
        let good: [&[Arg]; 7] = [
            // libgomp has 8 bytes for it.
            &[arg(a, 8, MapKind::TO), arg(64, 0, MapKind::POINTER)],
            // Present data holds the host's own pointers.
            &[
                arg(a, 24, MapKind::TO_PSET),
                arg(a + 4, 12, MapKind::POINTER),
            ],
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(a, 8, MapKind::TO),
                arg(a + 16, 8, MapKind::TO),
            ],
            &[arg(a, 8, MapKind::TO), arg(a + 8, 16, MapKind::ATTACH)],
            &[arg(16, 8, MapKind::TO), arg(8, 8, MapKind::ATTACH)],
            &[arg(16, 24, MapKind::TO_PSET), arg(16, 0, MapKind::POINTER)],
            &[arg(a, 8, MapKind::TO), arg(0, 8, MapKind::ATTACH)],
        ];
        for args in good {
            check(&device, args).unwrap();
        }
        let bad: [&[Arg]; 10] = [
            // The first member is one and a half times as long as both.
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(a, 32, MapKind::TO),
                arg(a + 16, 8, MapKind::TO),
            ],
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(0, 8, MapKind::TO),
                arg(a, 8, MapKind::TO),
            ],
            // A value has no bytes.
            &[
                arg(64, 16, MapKind::FIRSTPRIVATE_INT),
                arg(60, 4, MapKind::ATTACH),
            ],
            &[arg(16, 24, MapKind::TO_PSET), arg(20, 12, MapKind::POINTER)],
            &[arg(16, 24, MapKind::TO_PSET), arg(36, 20, MapKind::POINTER)],
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(a + 16, 8, MapKind::TO),
                arg(a, 8, MapKind::TO),
            ],
            &[arg(a, 8, MapKind::TO), arg(a, 1 << 40, MapKind::ATTACH)],
            &[arg(16, 8, MapKind::TO), arg(16, 4, MapKind::POINTER)],
            &[
                arg(16, 24, MapKind::TO_PSET),
                arg(a, 8, MapKind::TO),
                arg(64, 8, MapKind::POINTER),
            ],
            &[arg(16, 8, MapKind::TO), arg(u64::MAX, 8, MapKind::ATTACH)],
        ];
        for args in bad {
            check(&device, args).unwrap_err();
        }
    }
}
