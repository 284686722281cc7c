//! OpenMP's routines that copy and set memory of devices and of the host.

#![allow(clippy::too_many_arguments, reason = "OpenMP's signatures")]

use std::ffi::{c_int, c_void};

use super::devices::device;
use super::{DONE, FAILED};
use crate::abi::libomp::Dependence;
use crate::device::Device;
use crate::device::stream::Stream;
use crate::report::message::{self, Failed};
use crate::report::profile;
use crate::report::source::SourceName;
use crate::task::depend;

/// Bytes that are copied through the host at a time.
const PIECE: usize = 16 << 20;

/// No name.
const UNNAMED: SourceName = SourceName(std::ptr::null());

/// One side of a copy.
#[derive(Clone, Copy)]
struct Side {
    address: usize,
    number: c_int,
}

/// Copies `bytes` bytes.
///
/// # Safety
/// On the host, `from` is readable and `to` is writable for so many bytes. (Devices check their
/// ranges.)
unsafe fn copy(to: Side, from: Side, bytes: usize) -> Result<(), Failed> {
    match (device(to.number), device(from.number)) {
        (None, None) => {
            // SAFETY: both are on the host, and valid by the caller's promise; they may overlap.
            unsafe { std::ptr::copy(from.address as *const u8, to.address as *mut u8, bytes) };
            Ok(())
        }
        (Some(device), None) => {
            let mut stream = Stream::new(&device);
            // SAFETY: `from` is on the host, and readable by the caller's promise until this returns;
            // `synchronize` waits for the copy.
            unsafe {
                stream.copy_to(to.address as u64, from.address as *const u8, bytes, UNNAMED)?
            };
            stream.synchronize()
        }
        (None, Some(device)) => {
            let mut stream = Stream::new(&device);
            // SAFETY: `to` is on the host, and writable by the caller's promise until this returns;
            // `synchronize` waits for the copy.
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
                // SAFETY: `between` has `len` bytes, and `synchronize` waits for the copy.
                unsafe { reader.copy_from(place, from as u64, len, UNNAMED)? };
                reader.synchronize()?;
                // SAFETY: `between` has `len` bytes, and `synchronize` waits for the copy.
                unsafe { writer.copy_to(to as u64, place, len, UNNAMED)? };
                writer.synchronize()?;
            }
            Ok(())
        }
    }
}

/// Copies between two devices.
///
/// # Safety
/// On the host, `from` with its offset is readable and `to` with its offset is writable for `bytes`
/// bytes.
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
    // SAFETY: the caller's promise is that of `copy`, for addresses with their offsets.
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
    /// Reads the arrays.
    ///
    /// # Safety
    /// Both arrays have `count` elements, which are not 0.
    unsafe fn read(&self, count: usize) -> BoxInArray {
        BoxInArray {
            start: Side {
                address: self.start.addr(),
                number: self.number,
            },
            // SAFETY: the array has `count` elements, by the caller's promise.
            offsets: unsafe { std::slice::from_raw_parts(self.offsets, count) }.to_vec(),
            // SAFETY: the array has `count` elements, by the caller's promise.
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
    /// Each array is null or has an element for each of the `dimensions`.
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
        // SAFETY: no array is null, as was just checked, so each has `count` elements by the caller's
        // promise.
        unsafe {
            Ok(Self {
                element,
                volume: std::slice::from_raw_parts(volume, count).to_vec(),
                to: to.read(count),
                from: from.read(count),
            })
        }
    }

    /// Copies the box, row by row.
    ///
    /// # Safety
    /// The boxes lie in their arrays. On the host, the array that is copied from is readable and the
    /// other one writable.
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
            // SAFETY: the indices are in the volume, so both rows are in their boxes, which are valid by
            // the caller's promise.
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

/// Copies a box from one array to another.
///
/// # Safety
/// `volume`, the offsets and the dimensions are null or have `dimensions` elements. The boxes of this
/// volume lie in their arrays; on the host, the array that is copied from is readable and the other
/// one writable.
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
    // SAFETY: the caller's promise about the arrays with an element for each dimension.
    let rectangle = unsafe { Rectangle::new(element, dimensions, volume, &to, &from) };
    match rectangle {
        // SAFETY: the caller's promise about the boxes.
        Ok(rectangle) => status(unsafe { rectangle.copy() }),
        Err(result) => result,
    }
}

/// Like [`omp_target_memcpy`], as a task.
///
/// # Safety
/// On the host, `from` with its offset is readable and `to` with its offset is writable for `bytes`
/// bytes, until the task has ended. `dependences` has `count` elements.
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
        // SAFETY: this is the task, so the memory is still valid by the caller's promise.
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
    // SAFETY: `dependences` has `count` elements, by the caller's promise.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) }
}

/// Like [`omp_target_memcpy_rect`], as a task.
///
/// # Safety
/// `volume`, the offsets and the dimensions are null or have `dimensions` elements. The boxes of this
/// volume lie in their arrays; on the host, the array that is copied from is readable and the other
/// one writable, until the task has ended. `dependences` has `count` elements.
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
    // SAFETY: the caller's promise about the arrays with an element for each dimension.
    let rectangle = unsafe { Rectangle::new(element, dimensions, volume, &to, &from) };
    let rectangle = match rectangle {
        Ok(rectangle) => rectangle,
        Err(result) => return result,
    };
    let work = move || {
        // SAFETY: this is the task, so the arrays are still valid by the caller's promise.
        status(unsafe { rectangle.copy() })
    };
    // SAFETY: `dependences` has `count` elements, by the caller's promise.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) }
}

/// Writes the same byte to a range of device memory.
fn fill(device: &Device, to: usize, byte: u8, bytes: usize) -> Result<(), Failed> {
    let content = vec![byte; bytes.min(PIECE)];
    let mut stream = Stream::new(device);
    for offset in (0..bytes).step_by(PIECE) {
        let (to, len) = (to.wrapping_add(offset), PIECE.min(bytes - offset));
        // SAFETY: `content` has `len` bytes, and lives until `synchronize` has waited for the copy.
        unsafe { stream.copy_to(to as u64, content.as_ptr(), len, UNNAMED)? };
    }
    stream.synchronize()
}

/// Sets bytes of a device.
///
/// # Safety
/// On the host, `memory` is writable for `bytes` bytes.
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
        // SAFETY: it is the host's, and writable by the caller's promise.
        None => unsafe { std::ptr::write_bytes(memory.cast::<u8>(), byte as u8, bytes) },
        Some(device) => {
            // The error has been reported; the routine has no result for it.
            let _ = fill(&device, memory.addr(), byte as u8, bytes);
        }
    }
    memory
}

/// Like [`omp_target_memset`], as a task.
///
/// # Safety
/// On the host, `memory` is writable for `bytes` bytes, until the task has ended. `dependences` has `count` elements.
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
        // SAFETY: this is the task, so the memory is still valid by the caller's promise.
        unsafe { omp_target_memset(address as *mut c_void, byte, bytes, number) };
        DONE
    };
    // SAFETY: `dependences` has `count` elements, by the caller's promise.
    unsafe { depend::run_as_task(Box::new(work), count, dependences) };
    memory
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
