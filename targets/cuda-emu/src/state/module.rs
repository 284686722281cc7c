//! Modules: loaded PTX.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use emu_driver::process::{handle, lock};
use ptx_emu::{Kernel, LoadError};

use super::Context;
use crate::code::{Answer, Code};
use crate::image::{NoPtx, Part};

/// A loaded image.
pub(crate) struct Module {
    pub(crate) handle: u64,
    /// The newest architecture that its texts name: 70 for `.target sm_70`.
    pub(crate) target: u32,
    pub(crate) code: Arc<ptx_emu::Module>,
    /// Handles of its functions, by their names. GCC's plugin asks for functions that only device code
    /// calls, too, so these have handles as kernels do.
    functions: HashMap<String, u64>,
}

/// A kernel of a module that may be unloaded.
#[derive(Clone)]
pub(crate) struct Function {
    pub(crate) context: u64,
    pub(crate) module: u64,
    pub(crate) name: Arc<str>,
    /// None for a function that only device code calls.
    kernel: Option<Kernel>,
    /// Bytes of shared memory that a launch may add, if the program has set them.
    pub(crate) dynamic: Option<u32>,
}

/// Sets how many bytes of shared memory a launch of a function may add.
pub(crate) fn set_dynamic(function: u64, bytes: u32) {
    if let Some(function) = lock(&FUNCTIONS).get_mut(&function) {
        function.dynamic = Some(bytes);
    }
}

impl Function {
    /// The kernel that a launch starts.
    ///
    /// # Errors
    /// It is no kernel: only device code calls it.
    pub(crate) fn kernel(&self) -> Answer<Kernel> {
        self.kernel.ok_or(Code::INVALID_HANDLE)
    }
}

/// The architecture that a text is for; 0 if it names none.
fn target(text: &str) -> u32 {
    let names = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(".target"));
    let number = names.and_then(|names| {
        let digits = names.trim_start().strip_prefix("sm_")?;
        let end = digits.find(|c: char| !c.is_ascii_digit());
        digits[..end.unwrap_or(digits.len())].parse().ok()
    });
    number.unwrap_or(0)
}

/// The functions of all contexts, by their handles.
static FUNCTIONS: LazyLock<Mutex<HashMap<u64, Function>>> = LazyLock::new(Mutex::default);

impl Drop for Module {
    fn drop(&mut self) {
        let mut functions = lock(&FUNCTIONS);
        for handle in self.functions.values() {
            functions.remove(handle);
        }
    }
}

impl Module {
    /// The handle of a kernel.
    pub(crate) fn function(&self, name: &str) -> Answer<u64> {
        let found = self.functions.get(name).copied();
        found.ok_or_else(|| {
            tracing::debug!(name, "a kernel that was asked for is not there");
            Code::NOT_FOUND
        })
    }

    /// Handles of all kernels.
    pub(crate) fn kernels(&self) -> impl Iterator<Item = u64> {
        let names = self.code.kernels().map(|(name, _)| name);
        names.filter_map(|name| self.functions.get(name).copied())
    }
}

impl Context {
    /// Loads texts as one module, which nobody owns yet.
    pub(crate) fn load(&self, parts: &[Part]) -> Result<Module, NoPtx> {
        let targets = parts.iter().map(|part| target(&part.text));
        let target = targets.max().unwrap_or(0);
        let parts: Vec<_> = parts
            .iter()
            .map(|Part { name, text }| ptx_emu::Part { name, text })
            .collect();
        let code = self.gpu.machine.load(&parts).map_err(|error| {
            let code = match error {
                LoadError::Text { .. } => Code::INVALID_PTX,
                LoadError::Newer { .. } => Code::NO_BINARY_FOR_GPU,
                LoadError::OutOfMemory { .. } => Code::OUT_OF_MEMORY,
            };
            NoPtx::new(code, error.to_string())
        })?;
        let module = handle();
        let mut all = lock(&FUNCTIONS);
        let others = code.functions().filter(|name| code.kernel(name).is_none());
        let kernels = code.kernels().map(|(name, kernel)| (name, Some(kernel)));
        let functions = kernels.chain(others.map(|name| (name, None)));
        let functions = functions.map(|(name, kernel)| {
            let handle = handle();
            let function = Function {
                context: self.handle,
                module,
                name: name.into(),
                kernel,
                dynamic: None,
            };
            all.insert(handle, function);
            (name.to_owned(), handle)
        });
        let functions = functions.collect();
        drop(all);
        Ok(Module {
            handle: module,
            target,
            code,
            functions,
        })
    }

    pub(crate) fn module(&self, module: u64) -> Answer<Arc<Module>> {
        let owned = lock(&self.owned);
        let mut libraries = owned.libraries.values();
        let found = owned.modules.get(&module);
        let found = found.or_else(|| libraries.find(|of| of.handle == module));
        found.cloned().ok_or(Code::INVALID_HANDLE)
    }

    /// A function of this context, with its module.
    pub(crate) fn function(&self, function: u64) -> Answer<(Function, Arc<Module>)> {
        let found = lock(&FUNCTIONS).get(&function).cloned();
        let found = found.filter(|found| found.context == self.handle);
        let found = found.ok_or(Code::INVALID_HANDLE)?;
        let module = self.module(found.module)?;
        Ok((found, module))
    }
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn a_text_names_its_architecture() {
        for (text, expected) in [
            (".version 8.0\n.target sm_70\n", 70),
            ("// a\n  .target\tsm_90a, debug\r\n", 90),
            (".target sm_100", 100),
            (".version 8.0\n.target texmode_unified", 0),
            ("", 0),
        ] {
            assert_eq!(target(text), expected, "{text:?}");
        }
    }
}
