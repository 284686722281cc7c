//! The guards of mapped data.

use std::fmt;
use std::ops::{Deref, DerefMut};

use revoff_fn::Plain;
use zerocopy::IntoBytes;

use super::data_environment::{Borrow, MappedShare};
use super::on_device::OnDevice;
use super::scoped_queue::ScopedQueue;
use super::{Result, Runtime};
use crate::base::ranges::AddrRange;
use crate::device::Fill;

impl Runtime {
    /// Copies `data` to the device. As long as the guard lives, launches that get all or a part of
    /// `data` use that copy.
    ///
    /// Data that is mapped already is not copied.
    ///
    /// # Errors
    /// The device has not enough memory, or only a part of `data` is mapped already.
    pub fn map_to<'a, T: Plain>(&self, data: &'a [T]) -> Result<Mapped<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Shared, "map_to", true)?;
        Ok(Mapped { data, mapping })
    }

    /// As [`map_to`](Self::map_to), for data that launches write. Dropping the guard copies the
    /// data back.
    ///
    /// # Errors
    /// As for [`map_to`](Self::map_to).
    pub fn map_tofrom<'a, T: Plain>(&self, data: &'a mut [T]) -> Result<MappedMut<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Exclusive, "map_tofrom", true)?;
        Ok(MappedMut { data, mapping })
    }

    /// As [`map_tofrom`](Self::map_tofrom), but the copy on the device starts with zeroes.
    ///
    /// # Errors
    /// As for [`map_to`](Self::map_to).
    pub fn map_from<'a, T: Plain>(&self, data: &'a mut [T]) -> Result<MappedMut<'a, T>> {
        let mapping = Mapping::new(self, data, Borrow::Exclusive, "map_from", false)?;
        Ok(MappedMut { data, mapping })
    }
}

/// The guard of data that is mapped read-only, from [`Runtime::map_to`].
///
/// It dereferences to the mapped slice, and `&guard` is an argument for a launch. The data is
/// borrowed until the guard is dropped:
///
/// ```compile_fail,E0502
/// # fn change(_: &mut [f32]) {}
/// # fn wrong(runtime: &revoff_host::Runtime) -> Result<(), revoff_host::Error> {
/// let mut x = vec![1.0; 1000];
/// let mapped = runtime.map_to(&x)?;
/// change(&mut x);
/// # Ok(())
/// # }
/// ```
///
/// If the guard is leaked (`mem::forget`), the data stays on the device and its memory is not
/// freed. Launches and guards that only read data at the same host addresses then use the old
/// copy, even if the host's data has changed. The first one that borrows such data by `&mut` ends
/// that.
pub struct Mapped<'a, T> {
    data: &'a [T],
    mapping: Mapping,
}

// Because this type implements `Drop`, the data stays borrowed until the guard is dropped. So a
// holder of `&mut` to the data knows that no guard of this kind exists, except a leaked one.
impl<T> Drop for Mapped<'_, T> {
    fn drop(&mut self) {
        self.mapping.release(false);
    }
}

/// The guard of data that is mapped for reading and writing, from [`Runtime::map_tofrom`] or
/// [`Runtime::map_from`].
///
/// Dropping the guard copies the data back, unless an earlier guard had mapped it: then dropping
/// that guard does. [`finish`](Self::finish) does the same and returns errors.
///
/// The guard dereferences to the mapped slice, and `&mut guard` and `&guard` are arguments for a
/// launch. The slice is the host's data: it changes only by [`update_from`](Self::update_from),
/// and changes to it reach the device only by [`update_to`](Self::update_to).
///
/// If the guard is leaked (`mem::forget`), the data stays on the device, and launches that get
/// data at the same host addresses later use the old copy.
pub struct MappedMut<'a, T> {
    data: &'a mut [T],
    mapping: Mapping,
}

impl<T: Plain> MappedMut<'_, T> {
    /// Copies the host's data to the device.
    ///
    /// # Errors
    /// The copy failed.
    pub fn update_to(&mut self) -> Result<()> {
        self.mapping.copy_to(self.data)
    }

    /// Copies the device's data to the host.
    ///
    /// # Errors
    /// The copy failed; the contents of the data are then unspecified.
    pub fn update_from(&mut self) -> Result<()> {
        copy_from(&self.mapping, self.data)
    }
}

impl<T> MappedMut<'_, T> {
    /// Drops the guard: copies the data back, if this guard brought it to the device.
    ///
    /// # Errors
    /// The copy failed; the contents of the data are then unspecified.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        let result = match &self.mapping.share {
            Some(share) if share.is_first => copy_from(&self.mapping, self.data),
            _ => Ok(()),
        };
        // All other guards borrow from the first one. If one is left, it was leaked.
        self.mapping.release(true);
        result
    }
}

impl<T> Drop for MappedMut<'_, T> {
    fn drop(&mut self) {
        if let Err(error) = self.end() {
            tracing::error!(%error, "cannot copy mapped data back");
        }
    }
}

/// A guard's share of the data on the device. The guard releases it.
struct Mapping {
    runtime: Runtime,
    /// `None` if the data is empty or the share has been released.
    share: Option<MappedShare>,
}

impl Mapping {
    fn new<T: Plain>(
        runtime: &Runtime,
        data: &[T],
        borrow: Borrow,
        what: &str,
        copy_in: bool,
    ) -> Result<Self> {
        const {
            assert!(
                align_of::<T>() <= revoff_fn::Argument::MAX_ALIGN,
                "data for a kernel is aligned to at most 256 bytes"
            );
        }
        let range = AddrRange::of(data);
        let make = || {
            let fill = if copy_in { Fill::Any } else { Fill::Zeros };
            let mut queue = ScopedQueue::new(runtime)?;
            let on_device = queue.alloc(range, fill)?;
            if copy_in {
                copy_to(&mut queue, &on_device, data)?;
            }
            queue.finish()?;
            Ok(on_device)
        };
        let share = match range.is_empty() {
            true => None,
            false => Some(
                runtime
                    .data_environment()
                    .share(range, borrow, what, make)?,
            ),
        };
        Ok(Mapping {
            runtime: runtime.clone(),
            share,
        })
    }

    fn copy_to<T: Plain>(&self, data: &[T]) -> Result<()> {
        match &self.share {
            Some(share) => {
                let mut queue = ScopedQueue::new(&self.runtime)?;
                copy_to(&mut queue, &share.on_device, data)?;
                queue.finish()
            }
            None => Ok(()),
        }
    }

    fn release(&mut self, exclusive: bool) {
        if let Some(share) = self.share.take() {
            let for_all = exclusive && share.is_first;
            self.runtime.data_environment().release(&share, for_all);
        }
    }
}

/// Starts copying `data`, which the caller borrows until `queue` is finished or dropped.
fn copy_to<T: Plain>(queue: &mut ScopedQueue<'_>, on_device: &OnDevice, data: &[T]) -> Result<()> {
    let bytes = data.as_bytes();
    let to = on_device.address_of(bytes.as_ptr().addr());
    // SAFETY: both callers borrow `data` for longer than they keep `queue`.
    unsafe { queue.copy_to_device(to, bytes.as_ptr(), bytes.len()) }
}

fn copy_from<T>(mapping: &Mapping, data: &mut [T]) -> Result<()> {
    let Some(share) = &mapping.share else {
        return Ok(());
    };
    let (to, len) = (data.as_mut_ptr().cast::<u8>(), size_of_val(data));
    let mut queue = ScopedQueue::new(&mapping.runtime)?;
    let from = share.on_device.address_of(to.addr());
    // SAFETY: `data` is borrowed exclusively until the copy is finished, below or by the drop of
    // `queue`. Any bytes are a valid `T`, because `Mapping::new` requires `T: Plain`.
    unsafe { queue.copy_from_device(to, from, len)? };
    queue.finish()
}

impl<T> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> Deref for MappedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.data
    }
}

impl<T> DerefMut for MappedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.data
    }
}

impl<T> fmt::Debug for Mapped<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({})", AddrRange::of(self.data))
    }
}

impl<T> fmt::Debug for MappedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MappedMut({})", AddrRange::of(&*self.data))
    }
}
