//! Declared kernels: the type of a kernel, and the interface that launches it.

use core::alloc::Layout;

use shared_abi::image::KernelInfo;

use crate::argument::Argument;
use crate::signature::Form;

/// A kernel as [`kernel`](macro@crate::kernel) declares it: implemented by the type that the macro
/// makes.
pub trait Kernel {
    /// Its name in images.
    const NAME: &'static str;
    /// The description of the kernel in an image with the same declaration.
    const INFO: KernelInfo;

    /// The kernel bound to its launcher; has the method `launch`, with the declared parameters.
    type Bound<L: Launcher>;

    /// Binds the kernel to its launcher. For host runtimes.
    ///
    /// # Safety
    ///
    /// `launcher` launches a kernel whose image describes it by [`INFO`](Self::INFO).
    unsafe fn bound<L: Launcher>(launcher: L) -> Self::Bound<L>;
}

/// Launches one kernel. For host runtimes.
pub trait Launcher {
    /// The teams and threads of a launch.
    type Grid;
    /// The result of a successful launch.
    type Report;
    /// The error of a failed launch.
    type Error;

    /// Copies `arguments` to the device, runs the kernel to its end, and copies back.
    ///
    /// # Safety
    ///
    /// In number, forms and types these are the arguments of the declaration that the kernel's
    /// image was built from, and the values and memory that they borrow are not used otherwise
    /// meanwhile. Further conditions of the kernel's author hold.
    ///
    /// # Errors
    ///
    /// The kernel could not be launched or failed, or a copy did.
    unsafe fn launch(
        &self,
        grid: Self::Grid,
        arguments: &[Argument<'_>],
    ) -> Result<Self::Report, Self::Error>;
}

/// The parameters of a kernel, counted.
pub struct Parameters {
    params: u32,
    bytes: usize,
}

impl Parameters {
    /// No parameters.
    #[must_use]
    pub const fn new() -> Self {
        Parameters {
            params: 0,
            bytes: 0,
        }
    }

    /// Adds a parameter. A slice counts as two, address and length.
    #[must_use]
    pub const fn parameter<T>(self, form: Form) -> Self {
        self.parameter_of(form, Layout::new::<T>())
    }

    /// [`parameter`](Self::parameter), for a type that is known only at run time.
    ///
    /// # Panics
    /// The type has an alignment of more than [`Argument::MAX_ALIGN`], and is passed in memory.
    #[must_use]
    pub const fn parameter_of(self, form: Form, layout: Layout) -> Self {
        if matches!(form, Form::Value) {
            return self.and(1, layout.size());
        }
        assert!(
            layout.align() <= Argument::MAX_ALIGN,
            "what a kernel gets is aligned to at most 256 bytes"
        );
        let words = if form.is_slice() { 2 } else { 1 };
        self.and(words, words as usize * size_of::<u64>())
    }

    /// The description of such a kernel in an image.
    #[must_use]
    pub const fn info(self, signature: u64) -> KernelInfo {
        KernelInfo {
            params: self.params,
            bytes: self.bytes as u32,
            signature,
        }
    }

    const fn and(self, params: u32, bytes: usize) -> Self {
        Parameters {
            params: self.params + params,
            bytes: self.bytes + bytes,
        }
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self::new()
    }
}

/// Whether two texts are the same, for constants.
#[must_use]
pub const fn same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}
