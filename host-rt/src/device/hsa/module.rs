//! Loading code objects.

use std::collections::HashMap;
use std::ffi::CString;
use std::ptr::null;
use std::sync::Arc;

use hsa_runtime_sys::{
    HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, HSA_EXECUTABLE_SYMBOL_INFO_TYPE,
    HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE,
    HSA_PROFILE_FULL, HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, HSA_SYMBOL_KIND_KERNEL,
    HSA_SYMBOL_KIND_VARIABLE, hsa_code_object_reader_t, hsa_executable_symbol_info_t,
    hsa_executable_symbol_t, hsa_executable_t, hsa_symbol_kind_t,
};
use targets::DeviceArch;
use targets::arch::VectorRegisters;
use targets::code_object::{self, Kernel};

use super::agents::Number;
use super::context::{Code, Context, DeferredFree};
use super::emulated::with_reports;
use crate::device::{DeviceAddr, DeviceError, Global, KernelLimits, Module};
use crate::image::{Format, Image, ImageError};

/// The minimum stack of a thread for kernels whose stack size the compiler cannot determine, such
/// as recursive ones.
const DYNAMIC_STACK: u32 = 16 << 10;

/// A loaded image.
pub(super) struct HsaModule {
    context: Arc<Context>,
    executable: hsa_executable_t,
    reader: hsa_code_object_reader_t,
    /// The image, whose bytes the reader uses.
    image: Image,
    /// Kernels by address.
    kernels: HashMap<u64, Loaded>,
    /// The device's vector registers, which limit a team's threads.
    registers: VectorRegisters,
}

/// A kernel on the device. Sizes are in bytes.
pub(super) struct Loaded {
    pub(super) kernel: Kernel,
    /// The stack of each thread.
    pub(super) private: u32,
    /// Shared memory of each team.
    pub(super) shared: u32,
}

impl HsaModule {
    /// Loads `image` on a device of this architecture.
    pub(super) fn load(
        context: &Arc<Context>,
        arch: &DeviceArch,
        image: &Image,
    ) -> Result<Self, ImageError> {
        let other = || ImageError::OtherMachine {
            name: image.name().to_owned(),
            found: image.described(),
            device: context.name().to_owned(),
            wanted: format!("code objects for {arch}"),
            arch: Box::new(arch.clone()),
        };
        if image.format() != Format::CodeObject {
            return Err(other());
        }
        let refused = |reason: String| ImageError::Load {
            name: image.name().to_owned(),
            reason,
        };
        let said = code_object::read(image.bytes()).map_err(|error| refused(error.to_string()))?;
        if let (Some(target), DeviceArch::Amd(device)) = (&said.target, arch)
            && target.runs_on(device).is_none()
        {
            return Err(other());
        }
        let failed = |error: DeviceError| refused(error.to_string());
        context.check_lost().map_err(failed)?;
        let mut module = Self::read(context, arch, image).map_err(failed)?;
        module.freeze().map_err(failed)?;
        for kernel in said.kernels {
            module.find(kernel).map_err(failed)?;
        }
        Ok(module)
    }

    fn read(context: &Arc<Context>, arch: &DeviceArch, image: &Image) -> Result<Self, DeviceError> {
        let (bytes, rocr) = (image.bytes(), context.rocr);
        let mut reader = hsa_code_object_reader_t { handle: 0 };
        // SAFETY: the function writes the handle; the bytes live as long as the reader.
        let status = unsafe {
            rocr.hsa_code_object_reader_create_from_memory(
                bytes.as_ptr().cast(),
                bytes.len(),
                &raw mut reader,
            )
        };
        context.check("hsa_code_object_reader_create_from_memory", status)?;
        let mut executable = hsa_executable_t { handle: 0 };
        // SAFETY: the function writes the handle; there are no options.
        let status = unsafe {
            rocr.hsa_executable_create_alt(
                HSA_PROFILE_FULL,
                HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                null(),
                &raw mut executable,
            )
        };
        if let Err(error) = context.check("hsa_executable_create_alt", status) {
            // SAFETY: made above, and unused.
            unsafe { rocr.hsa_code_object_reader_destroy(reader) };
            return Err(error);
        }
        Ok(Self {
            context: Arc::clone(context),
            executable,
            reader,
            image: image.clone(),
            kernels: HashMap::new(),
            registers: VectorRegisters::of(match arch {
                DeviceArch::Amd(device) => &device.processor,
                _ => "",
            }),
        })
    }

    /// Loads the code onto the device.
    fn freeze(&self) -> Result<(), DeviceError> {
        let (context, rocr) = (&self.context, self.context.rocr);
        // SAFETY: the handles are alive; no loaded object is requested, and there are no options.
        // ROCr trusts the contents of the code object: the caller that loads an image trusts it as
        // code.
        let (status, reports) = with_reports(|| unsafe {
            rocr.hsa_executable_load_agent_code_object(
                self.executable,
                context.agent,
                self.reader,
                null(),
                std::ptr::null_mut(),
            )
        });
        context
            .check("hsa_executable_load_agent_code_object", status)
            .map_err(|error| error.with_reports(&reports))?;
        // SAFETY: the handle is alive; there are no options.
        let status = unsafe { rocr.hsa_executable_freeze(self.executable, null()) };
        context.check("hsa_executable_freeze", status)
    }

    /// Looks up a kernel that the code object declares.
    fn find(&mut self, kernel: Kernel) -> Result<(), DeviceError> {
        let Some(symbol) = self.symbol(&kernel.symbol, HSA_SYMBOL_KIND_KERNEL)? else {
            return Ok(());
        };
        // SAFETY: sizes are numbers of 32 bits, the object is one of 64.
        let (object, kernarg, private, shared) = unsafe {
            (
                self.ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, 0u64)?,
                self.ask(
                    symbol,
                    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                    0u32,
                )?,
                self.ask(
                    symbol,
                    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE,
                    0u32,
                )?,
                self.ask(
                    symbol,
                    HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE,
                    0u32,
                )?,
            )
        };
        if kernarg > kernel.kernarg_size {
            return Err(DeviceError::BadParameters {
                expected: format!("{kernarg} bytes of arguments, as its descriptor says"),
                found: format!("{}, as its metadata says", kernel.kernarg_size),
                kernel: kernel.name,
            });
        }
        let private = match kernel.has_dynamic_stack {
            true => private.max(DYNAMIC_STACK),
            false => private,
        };
        let loaded = Loaded {
            kernel,
            private,
            shared,
        };
        self.kernels.insert(object, loaded);
        Ok(())
    }

    /// The symbol of that name, if it exists and is of that kind.
    fn symbol(
        &self,
        name: &str,
        kind: hsa_symbol_kind_t,
    ) -> Result<Option<hsa_executable_symbol_t>, DeviceError> {
        let Ok(name) = CString::new(name) else {
            return Ok(None);
        };
        let mut symbol = hsa_executable_symbol_t { handle: 0 };
        // SAFETY: the function writes the handle; the executable is alive, the name a C string, and
        // the agent the one that it was loaded for.
        let status = unsafe {
            self.context.rocr.hsa_executable_get_symbol_by_name(
                self.executable,
                name.as_ptr(),
                &raw const self.context.agent,
                &raw mut symbol,
            )
        };
        if status == HSA_STATUS_ERROR_INVALID_SYMBOL_NAME {
            return Ok(None);
        }
        self.context
            .check("hsa_executable_get_symbol_by_name", status)?;
        // SAFETY: a kind is a number of this size.
        let found = unsafe { self.ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, kind)? };
        Ok((found == kind).then_some(symbol))
    }

    /// A property of a symbol.
    ///
    /// # Safety
    /// `T` is the type of the value of `what`.
    unsafe fn ask<T>(
        &self,
        symbol: hsa_executable_symbol_t,
        what: hsa_executable_symbol_info_t,
        mut value: T,
    ) -> Result<T, DeviceError> {
        // SAFETY: the function writes a value of that type.
        let status = unsafe {
            self.context
                .rocr
                .hsa_executable_symbol_get_info(symbol, what, (&raw mut value).cast())
        };
        self.context
            .check("hsa_executable_symbol_get_info", status)?;
        Ok(value)
    }

    /// The kernel at an address that [`Module::kernel`] has returned.
    pub(super) fn loaded(&self, kernel: Global) -> &Loaded {
        match self.kernels.get(&kernel.address.0) {
            Some(loaded) => loaded,
            None => unreachable!("a kernel of another module"),
        }
    }

    /// Maximum threads of a team of that kernel.
    pub(super) fn most_threads(&self, loaded: &Loaded) -> u32 {
        let most = self.context.number_of(Number::MAX_THREADS);
        match loaded.kernel.most_threads {
            0 => most,
            of_kernel => most.min(of_kernel),
        }
    }
}

impl Module for HsaModule {
    fn global(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        self.context.check_lost()?;
        let Some(symbol) = self.symbol(name, HSA_SYMBOL_KIND_VARIABLE)? else {
            return Ok(None);
        };
        // SAFETY: an address is a number of 64 bits, a size one of 32.
        let (address, size) = unsafe {
            (
                self.ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, 0u64)?,
                self.ask(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, 0u32)?,
            )
        };
        Ok(Some(Global {
            address: DeviceAddr(address),
            size: u64::from(size),
        }))
    }

    fn kernel(&self, name: &str) -> Result<Option<Global>, DeviceError> {
        let mut kernels = self.kernels.iter();
        let found = kernels.find(|(_, loaded)| loaded.kernel.name == name);
        Ok(found.map(|(&address, _)| Global {
            address: DeviceAddr(address),
            size: 0,
        }))
    }

    fn limits(&self, kernel: Global) -> Result<KernelLimits, DeviceError> {
        let loaded = self.loaded(kernel);
        let number = |what| self.context.number_of(what);
        let by_registers = self.registers.waves(loaded.kernel.vgprs);
        let by_registers = number(Number::SIMDS).saturating_mul(by_registers);
        let waves = number(Number::MAX_WAVES).min(by_registers);
        Ok(KernelLimits {
            block: self.most_threads(loaded),
            processor: waves * number(Number::WAVE),
            processors: number(Number::COMPUTE_UNITS),
            shared_bytes: loaded.shared,
        })
    }
}

impl Drop for HsaModule {
    fn drop(&mut self) {
        let code = Code {
            executable: self.executable,
            reader: self.reader,
            image: self.image.clone(),
        };
        // SAFETY: made by `read`; running kernels keep the module alive.
        self.context.give_back(unsafe { DeferredFree::code(code) });
    }
}
