//! Copies of rectangles in linear memory. There are no arrays.

use cudarc::driver::sys::{CUDA_MEMCPY2D, CUDA_MEMCPY3D, CUmemorytype};

use super::place::Range;
use super::queue;
use crate::code::{Answer, Code};
use crate::context::Context;
use crate::driver::with_context;
use crate::pointers::In;

/// One side of a copy: rows of rows.
struct Side {
    address: u64,
    /// Bytes from one row to the next, and rows from one slice to the next.
    pitch: usize,
    height: usize,
    /// Bytes, rows and slices before the copied ones.
    skipped: [usize; 3],
}

impl Side {
    fn of(
        kind: CUmemorytype,
        (host, device): (u64, u64),
        (pitch, height): (usize, usize),
        skipped: [usize; 3],
    ) -> Answer<Self> {
        let address = match kind {
            CUmemorytype::CU_MEMORYTYPE_HOST => host,
            CUmemorytype::CU_MEMORYTYPE_DEVICE | CUmemorytype::CU_MEMORYTYPE_UNIFIED => device,
            CUmemorytype::CU_MEMORYTYPE_ARRAY => return Err(Code::NOT_SUPPORTED),
        };
        Ok(Self {
            address,
            pitch,
            height,
            skipped,
        })
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
    for side in &sides {
        if side.pitch < width.saturating_add(side.skipped[0]) && height.max(depth) > 1 {
            return Err(Code::INVALID_VALUE);
        }
    }
    let rows = (0..depth).flat_map(|z| (0..height).map(move |y| (y, z)));
    let [to, from] = &sides;
    let pieces = rows.map(|(y, z)| Some((to.row(y, z)?, from.row(y, z)?, width)));
    let pieces: Vec<_> = pieces.collect::<Option<_>>().ok_or(Code::INVALID_VALUE)?;
    let end = |offset: fn(&(usize, usize, usize)) -> usize| {
        let last = pieces.iter().map(offset).max();
        last.and_then(|last| last.checked_add(width)).ok_or(Code::INVALID_VALUE)
    };
    let (to_len, from_len) = (end(|piece| piece.0)?, end(|piece| piece.1)?);
    let (to, to_host) = Range::of_either(context, to.address, to_len)?;
    let (from, from_host) = Range::of_either(context, from.address, from_len)?;
    let from = (from, from_host.then_some(from_len));
    // SAFETY: the driver's caller has the rows on both sides, and keeps those of the host until the
    // stream is done.
    unsafe { queue(context, &stream, to, from, pieces)? };
    if to_host || !is_async {
        context.end(&stream)?.wait()?;
    }
    Ok(())
}

fn copy_2d(context: &Context, stream: (u64, u64), copy_of: &In<CUDA_MEMCPY2D>, is_async: bool) -> Answer {
    let it = copy_of.get()?;
    let to = Side::of(
        it.dstMemoryType,
        (it.dstHost.expose_provenance() as u64, it.dstDevice),
        (it.dstPitch.max(if it.dstPitch == 0 { it.WidthInBytes } else { 0 }), 1),
        [it.dstXInBytes, it.dstY, 0],
    )?;
    let from = Side::of(
        it.srcMemoryType,
        (it.srcHost.expose_provenance() as u64, it.srcDevice),
        (it.srcPitch.max(if it.srcPitch == 0 { it.WidthInBytes } else { 0 }), 1),
        [it.srcXInBytes, it.srcY, 0],
    )?;
    copy(context, stream, [to, from], [it.WidthInBytes, it.Height, 1], is_async)
}

fn copy_3d(context: &Context, stream: (u64, u64), copy_of: &In<CUDA_MEMCPY3D>, is_async: bool) -> Answer {
    let it = copy_of.get()?;
    let to = Side::of(
        it.dstMemoryType,
        (it.dstHost.expose_provenance() as u64, it.dstDevice),
        (it.dstPitch, it.dstHeight),
        [it.dstXInBytes, it.dstY, it.dstZ],
    )?;
    let from = Side::of(
        it.srcMemoryType,
        (it.srcHost.expose_provenance() as u64, it.srcDevice),
        (it.srcPitch, it.srcHeight),
        [it.srcXInBytes, it.srcY, it.srcZ],
    )?;
    let size = [it.WidthInBytes, it.Height, it.Depth];
    copy(context, stream, [to, from], size, is_async)
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
    cuMemcpy2D_v2, cuMemcpy2DAsync_v2: CUDA_MEMCPY2D, copy_2d;
    cuMemcpy3D_v2, cuMemcpy3DAsync_v2: CUDA_MEMCPY3D, copy_3d;
}

pub extern "C" fn cuMemcpy2DUnaligned_v2<const DEFAULT: u64>(copy: In<CUDA_MEMCPY2D>) -> u32 {
    with_context("cuMemcpy2DUnaligned_v2", |context| {
        copy_2d(context, (0, DEFAULT), &copy, false)
    })
}
