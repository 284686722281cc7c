//! Kernels whose declaration is shared by host and image.

use std::ops::ControlFlow;

use revoff_fn::{Argument, Launcher};
use shared_abi::image::{KERNEL_PREFIX, KernelInfo};

use super::arguments::StagedArgs;
use super::launch::Watch;
use super::load::read_global;
use super::scoped_queue::ScopedQueue;
use super::{Kernel, Program, Report, Result, RuntimeError};
use crate::device::Grid;
use crate::image::{Image, ImageError};

impl Program {
    /// Looks up the kernel that `K` declares with [`revoff_fn::kernel`](macro@revoff_fn::kernel). The
    /// returned value's method `launch` takes the declared arguments, copies them to the device,
    /// runs the kernel, copies them back and returns.
    ///
    /// Arguments that are [mapped](crate::Runtime::map_to) are on the device already and stay
    /// there. If the launch fails, nothing is copied back and the host's memory has not changed.
    /// A launch also fails if one of its [calls](crate::CallError) does. Copying back comes last:
    /// if that fails, the contents of the arguments that it writes are unspecified.
    ///
    /// A kernel that has passed its [deadline](crate::Builder::deadline) runs on and may still
    /// write to mapped data. End those mappings without relying on their contents.
    ///
    /// # Errors
    /// The image has no kernel of that name, or one with another declaration.
    pub fn bind<K: revoff_fn::Kernel>(&self) -> Result<K::Bound<TypedKernel>> {
        let kernel = self.bind_declared(K::NAME, K::INFO)?;
        // SAFETY: the image's declaration of the kernel equals `K`'s, as compared there.
        Ok(unsafe { K::bound(kernel) })
    }

    /// [`bind`](Self::bind), for a declaration that is known only at run time: its name, and its
    /// description by [`revoff_fn::Parameters`].
    ///
    /// # Errors
    /// As for [`bind`](Self::bind).
    pub fn bind_declared(&self, name: &str, declared: KernelInfo) -> Result<TypedKernel> {
        let bound = self.bind_unchecked(name)?;
        let info = bound.kernel.declaration.info;
        if info != Some(declared) {
            return Err(ImageError::OtherKernel {
                name: self.inner.image.name().to_owned(),
                kernel: name.to_owned(),
                image: info
                    .map(|info| info.signature)
                    .filter(|signature| *signature != 0),
                host: declared.signature,
            }
            .into());
        }
        Ok(bound)
    }

    /// [`bind_declared`](Self::bind_declared), without a comparison: for kernels whose image has no declaration, such
    /// as those in C. The caller of [`launch`](Launcher::launch) guarantees that its arguments are the kernel's
    /// parameters: in C, memory is a pointer, and a slice a pointer and a `uint64_t`. Their number and sizes are
    /// checked if the image describes them.
    ///
    /// # Errors
    /// The image has no kernel of that name.
    pub fn bind_unchecked(&self, name: &str) -> Result<TypedKernel> {
        let mut kernel = self.kernel(name)?;
        if kernel.declaration.info.is_none() {
            kernel.declaration.info = self.query_info(name)?;
        }
        Ok(TypedKernel { kernel })
    }

    /// Reads the loaded image's declaration of a kernel from the device.
    fn query_info(&self, kernel: &str) -> Result<Option<KernelInfo>> {
        const SIZE: usize = size_of::<KernelInfo>();
        let symbol = format!("{KERNEL_PREFIX}{kernel}");
        let inner = &self.inner;
        let words = read_global::<SIZE>(&inner.runtime, &inner.image, &*inner.module, &symbol)?;
        Ok(words.map(|words| Image::kernel_info(&words)))
    }
}

/// Launches a kernel that [`Program::bind`], [`Program::bind_declared`] or [`Program::bind_unchecked`] bound.
#[derive(Clone)]
pub struct TypedKernel {
    kernel: Kernel,
}

impl TypedKernel {
    /// [`launch`](Launcher::launch), during which the waiting thread calls `watch` with the launch's
    /// [identifier](crate::Launch::id): once when the kernel was started, then every 50 ms. If a host
    /// function launches the kernel, it calls `watch` only when the kernel has ended.
    ///
    /// If `watch` returns `Break`, the launch is [aborted](crate::Launch::abort), as at its deadline.
    ///
    /// For memory that is on the device already, pass its address there by value, and for a slice also the number of
    /// its elements: nothing is copied then.
    ///
    /// # Safety
    /// As for [`launch`](Launcher::launch).
    ///
    /// # Errors
    /// As for [`launch`](Launcher::launch); [`LaunchError::Interrupted`] after `Break`.
    ///
    /// [`LaunchError::Interrupted`]: crate::LaunchError::Interrupted
    pub unsafe fn launch_watched(
        &self,
        grid: Grid,
        arguments: &[Argument<'_>],
        watch: &mut dyn FnMut(u32) -> ControlFlow<()>,
    ) -> Result<Report> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_with(grid, arguments, Some(watch)) }
    }

    /// # Safety
    /// As for [`launch`](Launcher::launch).
    unsafe fn launch_with(
        &self,
        grid: Grid,
        arguments: &[Argument<'_>],
        watch: Option<Watch<'_>>,
    ) -> Result<Report> {
        let runtime = self.kernel.runtime();
        let mut queue = ScopedQueue::new(&runtime)?;
        let name = &self.kernel.declaration.name;
        let staged = StagedArgs::new(&mut queue, name, arguments)?;
        // SAFETY: the kernel takes these parameters: the caller guarantees it for the declaration that
        // the image was built from, which `bind_declared` has compared, and for an unchecked kernel
        // altogether. `staged` holds their memory and outlives the launch; for an overdue kernel,
        // `Overdue` keeps that memory allocated.
        let report = unsafe { queue.launch(&self.kernel, grid, &staged.params(), watch)? };
        // These copies are not queued behind the kernel: a launch with failed calls copies nothing
        // back, which is known only at its end, and after a deadline no copy may still write to
        // the caller's memory.
        staged.copy_back(queue)?;
        Ok(report)
    }
}

impl Launcher for TypedKernel {
    type Grid = Grid;
    type Report = Report;
    type Error = RuntimeError;

    unsafe fn launch(&self, grid: Grid, arguments: &[Argument<'_>]) -> Result<Report> {
        // SAFETY: the caller's promise.
        unsafe { self.launch_with(grid, arguments, None) }
    }
}
