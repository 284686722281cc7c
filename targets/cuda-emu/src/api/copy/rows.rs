//! Copies of rectangles in linear memory. There are no arrays.

use std::ffi::c_void;

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype};

use super::place::Range;
use super::queue;
use crate::code::{Answer, Code};
use crate::driver::with_context;
use crate::pointers::In;
use crate::state::Context;

/// One side of a [`Rectangle`], as `CUDA_MEMCPY2D` has it: with the number of a `CUmemorytype`, which may
/// be any number.
#[derive(Clone, Copy)]
#[repr(C)]
struct RectangleSide {
    x: usize,
    y: usize,
    kind: u32,
    host: *const c_void,
    device: u64,
    array: *const c_void,
    pitch: usize,
}

/// `CUDA_MEMCPY2D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Rectangle {
    from: RectangleSide,
    to: RectangleSide,
    width: usize,
    height: usize,
}

/// One side of a [`Cuboid`].
#[derive(Clone, Copy)]
#[repr(C)]
struct CuboidSide {
    x: usize,
    y: usize,
    z: usize,
    level: usize,
    kind: u32,
    host: *const c_void,
    device: u64,
    array: *const c_void,
    reserved: *const c_void,
    pitch: usize,
    height: usize,
}

/// `CUDA_MEMCPY3D`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Cuboid {
    from: CuboidSide,
    to: CuboidSide,
    width: usize,
    height: usize,
    depth: usize,
}

const _: () = {
    assert!(size_of::<Rectangle>() == size_of::<CUDA_MEMCPY2D>());
    assert!(
        std::mem::offset_of!(Rectangle, to) == std::mem::offset_of!(CUDA_MEMCPY2D, dstXInBytes)
    );
    assert!(size_of::<Cuboid>() == size_of::<CUDA_MEMCPY3D>());
    assert!(std::mem::offset_of!(Cuboid, to) == std::mem::offset_of!(CUDA_MEMCPY3D, dstXInBytes));
};

/// One side of a copy: rows of rows.
struct Side {
    address: u64,
    /// Whether it cannot be the host's ordinary memory.
    is_device: bool,
    /// Bytes from one row to the next, and rows from one slice to the next.
    pitch: usize,
    height: usize,
    /// Bytes, rows and slices before the copied ones.
    skipped: [usize; 3],
}

impl Side {
    fn of(
        kind: u32,
        (host, device): (*const c_void, u64),
        (pitch, height): (usize, usize),
        skipped: [usize; 3],
    ) -> Answer<Self> {
        const HOST: u32 = CUmemorytype::CU_MEMORYTYPE_HOST as u32;
        const DEVICE: u32 = CUmemorytype::CU_MEMORYTYPE_DEVICE as u32;
        const ARRAY: u32 = CUmemorytype::CU_MEMORYTYPE_ARRAY as u32;
        const UNIFIED: u32 = CUmemorytype::CU_MEMORYTYPE_UNIFIED as u32;
        let address = match kind {
            HOST => host.expose_provenance() as u64,
            DEVICE | UNIFIED => device,
            ARRAY => return Err(Code::NOT_SUPPORTED),
            _ => return Err(Code::INVALID_VALUE),
        };
        Ok(Self {
            address,
            is_device: kind == DEVICE,
            pitch,
            height,
            skipped,
        })
    }

    /// Whether rows of the copy do not overlap: there are then no more of them than bytes.
    fn holds(&self, [width, height, depth]: [usize; 3]) -> bool {
        let [x0, y0, _] = self.skipped;
        let has_width = self.pitch >= width.saturating_add(x0) || height.max(depth) == 1;
        has_width && (self.height >= height.saturating_add(y0) || depth == 1)
    }

    /// The memory of the copy, and whether it is the host's ordinary memory.
    fn range(
        &self,
        context: &Context,
        [width, height, depth]: [usize; 3],
    ) -> Answer<(Range, bool)> {
        let last = self.row(height - 1, depth - 1);
        let len = last.and_then(|last| last.checked_add(width));
        let len = len.ok_or(Code::INVALID_VALUE)?;
        if self.is_device {
            return Ok((Range::of_device(context, self.address, len)?, false));
        }
        Range::of_either(context, self.address, len)
    }

    /// The offset of a row of the copy.
    fn row(&self, y: usize, z: usize) -> Option<usize> {
        let [x0, y0, z0] = self.skipped;
        let row = z.checked_add(z0)?.checked_mul(self.height)?;
        let row = row.checked_add(y)?.checked_add(y0)?;
        row.checked_mul(self.pitch)?.checked_add(x0)
    }
}

/// Copies `width` bytes of each row; `sides` are target and source.
fn copy(
    context: &Context,
    (stream, default): (u64, u64),
    sides: [Side; 2],
    [width, height, depth]: [usize; 3],
    is_async: bool,
) -> Answer {
    let stream = context.stream(stream, default)?;
    if width == 0 || height == 0 || depth == 0 {
        return Ok(());
    }
    let size = [width, height, depth];
    if !sides.iter().all(|side| side.holds(size)) {
        return Err(Code::INVALID_VALUE);
    }
    let [to, from] = &sides;
    let (to_range, from_range) = (to.range(context, size)?, from.range(context, size)?);
    let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
    let pieces = rows.map(|(y, z)| Some((to.row(y, z)?, from.row(y, z)?, width)));
    let pieces: Vec<_> = pieces.collect::<Option<_>>().ok_or(Code::INVALID_VALUE)?;
    let ((to, to_host), from) = (to_range, from_range);
    // SAFETY: the driver's caller has the rows on both sides, and keeps those of the host until the
    // stream is done.
    unsafe { queue(context, &stream, to, from, pieces)? };
    if to_host || !is_async {
        context.end(&stream)?.wait()?;
    }
    Ok(())
}

impl RectangleSide {
    fn rows(&self, width: usize) -> Answer<Side> {
        let pitch = if self.pitch == 0 { width } else { self.pitch };
        let addresses = (self.host, self.device);
        Side::of(self.kind, addresses, (pitch, 1), [self.x, self.y, 0])
    }
}

impl CuboidSide {
    fn rows(&self) -> Answer<Side> {
        let addresses = (self.host, self.device);
        let skipped = [self.x, self.y, self.z];
        Side::of(self.kind, addresses, (self.pitch, self.height), skipped)
    }
}

fn copy_2d(
    context: &Context,
    stream: (u64, u64),
    rectangle: &In<Rectangle>,
    is_async: bool,
) -> Answer {
    let it = rectangle.get()?;
    let sides = [it.to.rows(it.width)?, it.from.rows(it.width)?];
    copy(context, stream, sides, [it.width, it.height, 1], is_async)
}

fn copy_3d(context: &Context, stream: (u64, u64), cuboid: &In<Cuboid>, is_async: bool) -> Answer {
    let it = cuboid.get()?;
    let sides = [it.to.rows()?, it.from.rows()?];
    copy(
        context,
        stream,
        sides,
        [it.width, it.height, it.depth],
        is_async,
    )
}

macro_rules! rectangles {
    ($($name:ident, $later:ident: $type:ty, $copy:ident;)*) => {$(
        pub extern "C" fn $name<const DEFAULT: u64>(copy: In<$type>) -> u32 {
            with_context(stringify!($name), |context| {
                $copy(context, (0, DEFAULT), &copy, false)
            })
        }

        pub extern "C" fn $later<const DEFAULT: u64>(copy: In<$type>, stream: u64) -> u32 {
            with_context(stringify!($later), |context| {
                $copy(context, (stream, DEFAULT), &copy, true)
            })
        }
    )*};
}

rectangles! {
    cuMemcpy2D_v2, cuMemcpy2DAsync_v2: Rectangle, copy_2d;
    cuMemcpy3D_v2, cuMemcpy3DAsync_v2: Cuboid, copy_3d;
}

pub extern "C" fn cuMemcpy2DUnaligned_v2<const DEFAULT: u64>(copy: In<Rectangle>) -> u32 {
    with_context("cuMemcpy2DUnaligned_v2", |context| {
        copy_2d(context, (0, DEFAULT), &copy, false)
    })
}
