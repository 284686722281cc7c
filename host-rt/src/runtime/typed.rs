//! Kernels that host and image share a declaration of.

use host_fn::{Argument, Launcher};
use shared_abi::image::{KERNEL_PREFIX, KernelInfo};

use super::arguments::StagedArgs;
use super::copies::Copies;
use super::load::read_global;
use super::{Error, Kernel, Program, Report, Result};
use crate::device::Grid;
use crate::image::{Image, ImageError};

impl Program {
    /// The kernel that `K` declares, with [`host_fn::kernel`](macro@host_fn::kernel), ready
    /// to be launched: with its method `launch`, which takes what is declared, copies it to
    /// the device and back, and returns when that is done.
    ///
    /// What is [mapped](crate::Runtime::map_to) is on the device already and stays there. If the
    /// launch fails, nothing is copied back and no memory of the host has changed; that
    /// includes one whose kernel ended well and whose [calls](crate::CallError) did not. Copying
    /// back comes last: if that fails, it is unspecified what the memory holds that was to
    /// come back. A kernel that has passed its
    /// [deadline](crate::Builder::deadline) runs on and may still write to what is mapped:
    /// end those mappings, and with them what it writes to.
    ///
    /// # Errors
    /// The image has no such kernel, or one of another declaration.
    pub fn bind<K: host_fn::Kernel>(&self) -> Result<K::Bound<TypedKernel>> {
        let mut kernel = self.kernel(K::NAME)?;
        let info = match kernel.declaration.info {
            Some(info) => Some(info),
            None => self.ask_info(K::NAME)?,
        };
        if info != Some(K::INFO) {
            return Err(ImageError::OtherKernel {
                name: self.inner.image.name().to_owned(),
                kernel: K::NAME.to_owned(),
                image: info
                    .map(|info| info.signature)
                    .filter(|signature| *signature != 0),
                host: K::INFO.signature,
            }
            .into());
        }
        kernel.declaration.info = info;
        // SAFETY: that was compared.
        Ok(unsafe { K::bound(TypedKernel { kernel }) })
    }

    /// What the loaded image says of a kernel.
    fn ask_info(&self, kernel: &str) -> Result<Option<KernelInfo>> {
        const SIZE: usize = size_of::<KernelInfo>();
        let symbol = format!("{KERNEL_PREFIX}{kernel}");
        let inner = &self.inner;
        let words = read_global::<SIZE>(&inner.runtime, &inner.image, &*inner.module, &symbol)?;
        Ok(words.map(|words| Image::kernel_info(&words)))
    }
}

/// What launches one kernel that [`Program::bind`] bound.
#[derive(Clone)]
pub struct TypedKernel {
    kernel: Kernel,
}

impl Launcher for TypedKernel {
    type Grid = Grid;
    type Report = Report;
    type Error = Error;

    unsafe fn launch(&self, grid: Grid, arguments: &[Argument<'_>]) -> Result<Report> {
        let runtime = self.kernel.runtime();
        let mut copies = Copies::new(&runtime)?;
        let name = &self.kernel.declaration.name;
        let staged = StagedArgs::new(&mut copies, name, arguments)?;
        // SAFETY: the image was built from the declaration that the arguments are of, so
        // these are the parameters that its kernel takes. `staged` outlives the launch, or its
        // memory is kept for a kernel that is overdue.
        let report = unsafe { copies.launch(&self.kernel, grid, &staged.params())? };
        // Not queued behind the kernel: whether its calls have failed is known once it has ended,
        // and after a deadline nothing may still write to the caller's memory.
        staged.copy_back(copies)?;
        Ok(report)
    }
}
