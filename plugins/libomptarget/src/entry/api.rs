//! OpenMP's routines for device memory: `omp_target_*` and similar ones.
//!
//! # Safety
//! Programs call them, with addresses that OpenMP allows.

#![allow(
    clippy::missing_safety_doc,
    reason = "one promise for all of them, in the module's documentation"
)]
#![allow(clippy::too_many_arguments, reason = "OpenMP's signatures")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::Mutex;

use host_rt::ranges::AddrRange;

use crate::abi::libomp::Dependence;
use crate::device::Device;
use crate::device::stream::Stream;
use crate::locks::lock;
use crate::registry::{self, construct};
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::report::source::SourceName;
use crate::task::depend;

const DONE: c_int = 0;
const FAILED: c_int = !0;

/// Bytes that are copied through the host at a time.
const PIECE: usize = 16 << 20;

/// No name.
const UNNAMED: SourceName = SourceName(std::ptr::null());

#[unsafe(no_mangle)]
extern "C" fn omp_get_num_devices() -> c_int {
    registry::device_count() as c_int
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_initial_device() -> c_int {
    match omp_get_num_devices() {
        0 => -1,
        devices => devices,
    }
}

/// The number of the caller's device: the host.
#[unsafe(no_mangle)]
extern "C" fn omp_get_device_num() -> c_int {
    omp_get_initial_device()
}

/// The device with this number; `None` for the host.
fn device(number: c_int) -> Option<std::sync::Arc<Device>> {
    (number != omp_get_initial_device()).then(|| registry::device(i64::from(number)))
}

/// # Safety
/// As for the module; [`free`] with the same number frees the memory.
unsafe fn alloc(bytes: usize, number: c_int) -> *mut c_void {
    let _span = profile::span("omp_target_alloc", || {
        format!("dst_dev={number};size={bytes}")
    });
    if bytes == 0 {
        return std::ptr::null_mut();
    }
    match device(number) {
        // SAFETY: any size is allowed.
        None => unsafe { libc::malloc(bytes) },
        Some(device) => match device.alloc_by_address(bytes as u64) {
            Ok(address) => address as usize as *mut c_void,
            Err(Failed) => std::ptr::null_mut(),
        },
    }
}

/// # Safety
/// The module's.
unsafe fn free(memory: *mut c_void, number: c_int) {
    let _span = profile::span("omp_target_free", String::new);
    if memory.is_null() {
        return;
    }
    match device(number) {
        // SAFETY: `alloc` returned it to the caller.
        None => unsafe { libc::free(memory) },
        Some(device) if device.free_by_address(memory.addr() as u64) => {}
        Some(device) => {
            let what = format!(
                "Failed to deallocate device ptr {memory:?}: omp_target_alloc has not allocated it on device {}",
                device.number
            );
            message::fatal(i64::from(number), &what);
        }
    }
}

macro_rules! allocators {
    ($($alloc:ident, $free:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $alloc(bytes: usize, number: c_int) -> *mut c_void {
            // SAFETY: the module's promise.
            unsafe { alloc(bytes, number) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $free(memory: *mut c_void, number: c_int) {
            // SAFETY: the module's promise.
            unsafe { free(memory, number) }
        }
    )*};
}

allocators! {
    omp_target_alloc, omp_target_free;
    llvm_omp_target_alloc_device, llvm_omp_target_free_device;
}

/// Memory that host and device reach: all memory on `host`, none on other devices.
///
/// # Safety
/// As for the module; `free` frees the memory.
unsafe fn alloc_shared(bytes: usize, number: c_int) -> *mut c_void {
    match device(number) {
        Some(device) if !device.calls_kernels => {
            message::error(&format!(
                "device {} is `{}`, which has no memory that the host reaches by its address: use \
                 omp_target_alloc and omp_target_memcpy",
                device.number, device.name
            ));
            std::ptr::null_mut()
        }
        // SAFETY: the module's promise.
        _ => unsafe { libc::malloc(bytes) },
    }
}

macro_rules! shared_allocators {
    ($($alloc:ident, $free:ident;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $alloc(bytes: usize, number: c_int) -> *mut c_void {
            // SAFETY: the module's promise.
            unsafe { alloc_shared(bytes, number) }
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $free(memory: *mut c_void, _number: c_int) {
            // SAFETY: the function above returned it to the caller.
            unsafe { libc::free(memory) }
        }
    )*};
}

shared_allocators! {
    llvm_omp_target_alloc_host, llvm_omp_target_free_host;
    llvm_omp_target_alloc_shared, llvm_omp_target_free_shared;
}

/// Dynamic shared memory is for device code.
#[unsafe(no_mangle)]
extern "C" fn llvm_omp_target_dynamic_shared_alloc() -> *mut c_void {
    std::ptr::null_mut()
}

/// Makes host memory accessible to a device: on `host` it is.
#[unsafe(no_mangle)]
unsafe extern "C" fn llvm_omp_target_lock_mem(
    memory: *mut c_void,
    bytes: usize,
    number: c_int,
) -> *mut c_void {
    let reaches = device(number).is_none_or(|device| device.calls_kernels);
    if bytes == 0 || !reaches {
        return std::ptr::null_mut();
    }
    memory
}

#[unsafe(no_mangle)]
extern "C" fn llvm_omp_target_unlock_mem(_memory: *mut c_void, _number: c_int) {}

#[unsafe(no_mangle)]
extern "C" fn omp_target_is_present(host: *const c_void, number: c_int) -> c_int {
    let _span = profile::span("omp_target_is_present", String::new);
    if host.is_null() {
        return 0;
    }
    device(number).map_or(1, |device| {
        c_int::from(device.table.find(&device, host.addr(), 1, false).is_some())
    })
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_mapped_ptr(host: *const c_void, number: c_int) -> *mut c_void {
    let _span = profile::span("omp_get_mapped_ptr", String::new);
    if host.is_null() {
        message::error("Call to omp_get_mapped_ptr with nullptr.");
        return std::ptr::null_mut();
    }
    if number > omp_get_initial_device() {
        return std::ptr::null_mut();
    }
    match device(number) {
        None => host.cast_mut(),
        Some(device) => {
            let found = device.table.find(&device, host.addr(), 1, false);
            found.map_or(std::ptr::null_mut(), |found| {
                found.device as usize as *mut c_void
            })
        }
    }
}

/// Whether code on the device may access the memory at this address.
#[unsafe(no_mangle)]
extern "C" fn omp_target_is_accessible(
    memory: *const c_void,
    _bytes: usize,
    number: c_int,
) -> c_int {
    if memory.is_null() {
        return 0;
    }
    let reaches = device(number)
        .is_none_or(|device| device.calls_kernels || device.has_allocated(memory.addr() as u64));
    c_int::from(reaches)
}

/// One side of a copy.
#[derive(Clone, Copy)]
struct Side {
    address: usize,
    number: c_int,
}

/// # Safety
/// The module's.
unsafe fn copy(to: Side, from: Side, bytes: usize) -> Result<(), Failed> {
    match (device(to.number), device(from.number)) {
        (None, None) => {
            // SAFETY: the caller's promise; the ranges may overlap.
            unsafe { std::ptr::copy(from.address as *const u8, to.address as *mut u8, bytes) };
            Ok(())
        }
        (Some(device), None) => {
            let mut stream = Stream::new(&device);
            // SAFETY: the caller's promise; `synchronize` waits for the copy.
            unsafe {
                stream.copy_to(to.address as u64, from.address as *const u8, bytes, UNNAMED)?
            };
            stream.synchronize()
        }
        (None, Some(device)) => {
            let mut stream = Stream::new(&device);
            // SAFETY: the caller's promise; `synchronize` waits for the copy.
            unsafe {
                stream.copy_from(to.address as *mut u8, from.address as u64, bytes, UNNAMED)?
            };
            stream.synchronize()
        }
        (Some(device), Some(_)) if to.number == from.number => {
            let mut stream = Stream::new(&device);
            stream.copy_on_device(to.address as u64, from.address as u64, bytes)?;
            stream.synchronize()
        }
        (Some(to_device), Some(from_device)) => {
            let mut between = vec![0u8; bytes.min(PIECE)];
            let place = between.as_mut_ptr();
            let mut reader = Stream::new(&from_device);
            let mut writer = Stream::new(&to_device);
            for offset in (0..bytes).step_by(PIECE) {
                let len = PIECE.min(bytes - offset);
                let (to, from) = (to.address + offset, from.address + offset);
                // SAFETY: a local; this waits for the copy.
                unsafe { reader.copy_from(place, from as u64, len, UNNAMED)? };
                reader.synchronize()?;
                // SAFETY: a local; this waits for the copy.
                unsafe { writer.copy_to(to as u64, place, len, UNNAMED)? };
                writer.synchronize()?;
            }
            Ok(())
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    let _span = profile::span("omp_target_memcpy", || {
        format!("dst_dev={to_device};src_dev={from_device};size={bytes}")
    });
    if bytes == 0 {
        return DONE;
    }
    if to.is_null() || from.is_null() {
        message::error("Call to omp_target_memcpy with invalid arguments");
        return FAILED;
    }
    let to = Side {
        address: to.addr().wrapping_add(to_offset),
        number: to_device,
    };
    let from = Side {
        address: from.addr().wrapping_add(from_offset),
        number: from_device,
    };
    // SAFETY: the module's promise.
    status(unsafe { copy(to, from, bytes) })
}

fn status(copied: Result<(), Failed>) -> c_int {
    match copied {
        Ok(()) => DONE,
        Err(Failed) => FAILED,
    }
}

/// A box in an array, on one side of a copy, as a program passes it.
struct BoxArgs {
    start: *const c_void,
    number: c_int,
    offsets: *const usize,
    dimensions: *const usize,
}

impl BoxArgs {
    /// # Safety
    /// Both arrays have `count` elements.
    unsafe fn read(&self, count: usize) -> BoxInArray {
        BoxInArray {
            start: Side {
                address: self.start.addr(),
                number: self.number,
            },
            // SAFETY: the caller's promise.
            offsets: unsafe { std::slice::from_raw_parts(self.offsets, count) }.to_vec(),
            // SAFETY: the caller's promise.
            dimensions: unsafe { std::slice::from_raw_parts(self.dimensions, count) }.to_vec(),
        }
    }
}

/// A box in an array, on one side of a copy.
struct BoxInArray {
    start: Side,
    offsets: Vec<usize>,
    dimensions: Vec<usize>,
}

impl BoxInArray {
    /// Bytes between the elements of a dimension.
    fn stride(&self, dimension: usize, element: usize) -> usize {
        self.dimensions[dimension + 1..]
            .iter()
            .fold(element, |bytes, &n| bytes.wrapping_mul(n))
    }

    /// The offset of a row, by its indices in all dimensions but the last.
    fn row(&self, indices: &[usize], element: usize) -> Side {
        let last = self.offsets.len() - 1;
        let start = self
            .start
            .address
            .wrapping_add(self.offsets[last].wrapping_mul(element));
        let address = indices
            .iter()
            .enumerate()
            .fold(start, |address, (dimension, index)| {
                let at = self.offsets[dimension].wrapping_add(*index);
                address.wrapping_add(at.wrapping_mul(self.stride(dimension, element)))
            });
        Side {
            address,
            number: self.start.number,
        }
    }
}

/// A copy of a box from one array to another.
struct Rectangle {
    element: usize,
    volume: Vec<usize>,
    to: BoxInArray,
    from: BoxInArray,
}

impl Rectangle {
    /// Reads the arguments of a copy of boxes: `Err` is the result without a copy.
    ///
    /// # Safety
    /// As for the module; all arrays have an element for each of the `dimensions`.
    unsafe fn new(
        element: usize,
        dimensions: c_int,
        volume: *const usize,
        to: &BoxArgs,
        from: &BoxArgs,
    ) -> Result<Self, c_int> {
        if to.start.is_null() && from.start.is_null() {
            // A query for the most dimensions.
            return Err(c_int::MAX);
        }
        let is_incomplete = |args: &BoxArgs| {
            args.start.is_null() || args.offsets.is_null() || args.dimensions.is_null()
        };
        let count = usize::try_from(dimensions).unwrap_or(0);
        let is_empty = element == 0 || count == 0 || volume.is_null();
        if is_empty || is_incomplete(to) || is_incomplete(from) {
            message::error("Call to omp_target_memcpy_rect with invalid arguments");
            return Err(FAILED);
        }
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Self {
                element,
                volume: std::slice::from_raw_parts(volume, count).to_vec(),
                to: to.read(count),
                from: from.read(count),
            })
        }
    }

    /// # Safety
    /// The module's, of [`omp_target_memcpy_rect`].
    unsafe fn copy(&self) -> Result<(), Failed> {
        if self.volume.contains(&0) {
            return Ok(());
        }
        let last = self.volume.len() - 1;
        let bytes = self.volume[last].wrapping_mul(self.element);
        let mut indices = vec![0; last];
        loop {
            let (to, from) = (
                self.to.row(&indices, self.element),
                self.from.row(&indices, self.element),
            );
            // SAFETY: the caller's promise.
            unsafe { copy(to, from, bytes)? };
            // The next row, counted like an odometer.
            let mut dimension = last;
            loop {
                if dimension == 0 {
                    return Ok(());
                }
                dimension -= 1;
                indices[dimension] += 1;
                if indices[dimension] < self.volume[dimension] {
                    break;
                }
                indices[dimension] = 0;
            }
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    let _span = profile::span("omp_target_memcpy_rect", String::new);
    let to = BoxArgs {
        start: to,
        number: to_device,
        offsets: to_offsets,
        dimensions: to_dimensions,
    };
    let from = BoxArgs {
        start: from,
        number: from_device,
        offsets: from_offsets,
        dimensions: from_dimensions,
    };
    // SAFETY: the module's promise.
    let rectangle = unsafe { Rectangle::new(element, dimensions, volume, &to, &from) };
    match rectangle {
        // SAFETY: the module's promise: the program's arrays are valid.
        Ok(rectangle) => status(unsafe { rectangle.copy() }),
        Err(result) => result,
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    bytes: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
    count: c_int,
    dependences: *const *const Dependence,
) -> c_int {
    if to.is_null() || from.is_null() {
        return FAILED;
    }
    let (to, from) = (to.addr(), from.addr());
    let work = move || {
        let (to, from) = (to as *mut c_void, from as *const c_void);
        // SAFETY: the program keeps the memory until its task has ended.
        unsafe {
            omp_target_memcpy(
                to,
                from,
                bytes,
                to_offset,
                from_offset,
                to_device,
                from_device,
            )
        }
    };
    // SAFETY: the module's promise.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_dimensions: *const usize,
    from_dimensions: *const usize,
    to_device: c_int,
    from_device: c_int,
    count: c_int,
    dependences: *const *const Dependence,
) -> c_int {
    let to = BoxArgs {
        start: to,
        number: to_device,
        offsets: to_offsets,
        dimensions: to_dimensions,
    };
    let from = BoxArgs {
        start: from,
        number: from_device,
        offsets: from_offsets,
        dimensions: from_dimensions,
    };
    // SAFETY: the module's promise.
    let rectangle = unsafe { Rectangle::new(element, dimensions, volume, &to, &from) };
    let rectangle = match rectangle {
        Ok(rectangle) => rectangle,
        Err(result) => return result,
    };
    let work = move || {
        // SAFETY: the program keeps the memory until its task has ended.
        status(unsafe { rectangle.copy() })
    };
    // SAFETY: the module's promise: `dependences` has `count` elements.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) }
}

/// Writes the same byte to a range of device memory.
fn fill(device: &Device, to: usize, byte: u8, bytes: usize) -> Result<(), Failed> {
    let content = vec![byte; bytes.min(PIECE)];
    let mut stream = Stream::new(device);
    for offset in (0..bytes).step_by(PIECE) {
        let (to, len) = (to.wrapping_add(offset), PIECE.min(bytes - offset));
        // SAFETY: a local; this waits for the copy.
        unsafe { stream.copy_to(to as u64, content.as_ptr(), len, UNNAMED)? };
    }
    stream.synchronize()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memset(
    memory: *mut c_void,
    byte: c_int,
    bytes: usize,
    number: c_int,
) -> *mut c_void {
    let _span = profile::span("omp_target_memset", || {
        format!("dst_dev={number};size={bytes}")
    });
    if memory.is_null() || bytes == 0 {
        return memory;
    }
    match device(number) {
        // SAFETY: the module's promise.
        None => unsafe { std::ptr::write_bytes(memory.cast::<u8>(), byte as u8, bytes) },
        Some(device) => {
            // The error has been reported; the routine has no result for it.
            let _ = fill(&device, memory.addr(), byte as u8, bytes);
        }
    }
    memory
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memset_async(
    memory: *mut c_void,
    byte: c_int,
    bytes: usize,
    number: c_int,
    count: c_int,
    dependences: *const *const Dependence,
) -> *mut c_void {
    if memory.is_null() || bytes == 0 {
        return memory;
    }
    let address = memory.addr();
    let work = move || {
        // SAFETY: the program keeps the memory until its task has ended.
        unsafe { omp_target_memset(address as *mut c_void, byte, bytes, number) };
        DONE
    };
    // SAFETY: the module's promise.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) };
    memory
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_associate_ptr(
    host: *const c_void,
    memory: *const c_void,
    bytes: usize,
    offset: usize,
    number: c_int,
) -> c_int {
    let _span = profile::span("omp_target_associate_ptr", String::new);
    if host.is_null() || memory.is_null() || bytes == 0 {
        message::error("Call to omp_target_associate_ptr with invalid arguments");
        return FAILED;
    }
    let Some(device) = device(number) else {
        message::error("omp_target_associate_ptr: no association possible on the host");
        return FAILED;
    };
    let address = memory.addr().wrapping_add(offset) as u64;
    let associated = match AddrRange::new(host.addr(), bytes) {
        Some(range) => device.table.associate(range, address),
        None => Err("The range to be associated runs past the end of the address space"),
    };
    result(associated)
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_disassociate_ptr(host: *const c_void, number: c_int) -> c_int {
    let _span = profile::span("omp_target_disassociate_ptr", String::new);
    if host.is_null() {
        message::error("Call to omp_target_disassociate_ptr with invalid host_ptr");
        return FAILED;
    }
    let Some(device) = device(number) else {
        message::error("omp_target_disassociate_ptr: no association possible on the host");
        return FAILED;
    };
    result(device.table.disassociate(host.addr()))
}

fn result(done: Result<(), crate::device::table::Refused>) -> c_int {
    match done {
        Ok(()) => DONE,
        Err(why) => {
            message::error(why);
            FAILED
        }
    }
}

/// Prints the mapping tables.
#[unsafe(no_mangle)]
extern "C" fn ompx_dump_mapping_tables() {
    for (number, lines) in construct::all_tables() {
        for line in lines {
            message::print(format_args!("omptarget device {number} info: {line}"));
        }
    }
}

/// Names of devices that programs have requested, which stay valid.
static UIDS: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// The unique name of a device: its name and number.
fn uid(number: c_int) -> String {
    match device(number) {
        None => "HOST".to_owned(),
        Some(device) => format!("{}-{}", device.name, device.number),
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_uid_from_device(number: c_int) -> *const c_char {
    if number != omp_get_initial_device() && !(0..omp_get_num_devices()).contains(&number) {
        return std::ptr::null();
    }
    let Ok(uid) = CString::new(uid(number)) else {
        return std::ptr::null();
    };
    let mut uids = lock(&UIDS);
    if let Some(known) = uids.iter().find(|known| **known == uid) {
        return known.as_ptr();
    }
    // A string's content does not move with the string.
    let text = uid.as_ptr();
    uids.push(uid);
    text
}

#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_device_from_uid(wanted: *const c_char) -> c_int {
    /// OpenMP's number of no device.
    const INVALID: c_int = -2;
    if wanted.is_null() {
        return INVALID;
    }
    // SAFETY: the module's promise: a C string.
    let wanted = unsafe { CStr::from_ptr(wanted) }.to_string_lossy();
    let numbers = (0..omp_get_num_devices()).chain([omp_get_initial_device()]);
    let mut found = numbers.filter(|&number| uid(number) == wanted);
    found.next().unwrap_or(INVALID)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn box_at(address: usize, offsets: &[usize], dimensions: &[usize]) -> BoxInArray {
        BoxInArray {
            start: Side {
                address,
                number: -1,
            },
            offsets: offsets.to_vec(),
            dimensions: dimensions.to_vec(),
        }
    }

    #[test]
    fn rows_of_boxes() {
        // int a[4][5][6], the box at [1][2][3]
        let box_ = box_at(1000, &[1, 2, 3], &[4, 5, 6]);
        assert_eq!(box_.row(&[0, 0], 4).address, 1000 + ((30 + 12) + 3) * 4);
        assert_eq!(
            box_.row(&[2, 1], 4).address,
            1000 + ((3 * 30 + 3 * 6) + 3) * 4
        );
        assert_eq!(box_at(8, &[7], &[10]).row(&[], 2).address, 22);
    }
}
