//! Kernels that are declared: what stands for one, and what launches it.

use shared_abi::image::KernelInfo;

use crate::argument::Argument;
use crate::signature::Form;

/// A kernel, as [`kernel`](macro@crate::kernel) declares it: implemented by the type that
/// the macro makes.
pub trait Kernel {
    /// Its name in images.
    const NAME: &'static str;
    /// What an image of the same declaration says of it.
    const INFO: KernelInfo;

    /// The kernel together with what launches it; has the method `launch`, with the
    /// declared parameters.
    type Bound<L: Launcher>;

    /// Binds the kernel to what launches it. For host runtimes.
    ///
    /// # Safety
    ///
    /// `launcher` launches a kernel whose image says [`INFO`](Self::INFO) of it.
    unsafe fn bound<L: Launcher>(launcher: L) -> Self::Bound<L>;
}

/// What launches one kernel. For host runtimes.
pub trait Launcher {
    /// How many threads a launch has.
    type Grid;
    /// What a launch that ended well has to say.
    type Report;
    /// Why a launch did not end well.
    type Error;

    /// Copies to the device what `arguments` say, runs the kernel to its end, and copies
    /// back.
    ///
    /// # Safety
    ///
    /// In number, forms and types these are the arguments of the declaration that the
    /// kernel's image was built from, and what they were made of is used for nothing else
    /// meanwhile. What the kernel's author asks for beyond that holds.
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
    /// None.
    #[must_use]
    pub const fn new() -> Self {
        Parameters {
            params: 0,
            bytes: 0,
        }
    }

    /// And one more. A slice is two, address and length.
    #[must_use]
    pub const fn parameter<T>(self, form: Form) -> Self {
        if matches!(form, Form::Value) {
            return self.and(1, size_of::<T>());
        }
        assert!(
            align_of::<T>() <= Argument::MAX_ALIGN,
            "what a kernel gets is aligned to at most 256 bytes"
        );
        let words = if form.is_slice() { 2 } else { 1 };
        self.and(words, words as usize * size_of::<u64>())
    }

    /// What an image says of such a kernel.
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
