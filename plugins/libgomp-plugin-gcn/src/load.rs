//! Loading an image.

use std::ffi::c_void;

use gomp_plugin::image::refused;
use gomp_plugin::{Code, Device, Function, Gpu, Result};
use revoff_host::device::{DeviceAddr, Global};
use revoff_host::{DeviceBuffer, Functions, Image, Program};
use targets::code_object;

use crate::arguments;
use crate::error::Error;
use crate::grid::processor;
use crate::image::ImageDescription;
use crate::launch::Launcher;
use crate::settings::Settings;
use crate::tables::{self, FUNCTION_TABLE, INDIRECT_TABLE, Tables, VARIABLE_TABLE};

/// The function by which an image calls the host.
const CALL: &str = "GOMP_target_ext";

/// The environment's settings for the devices.
pub(crate) struct Gcn {
    settings: Settings,
}

impl Gcn {
    pub(crate) fn read() -> Box<dyn Gpu> {
        Box::new(Self {
            settings: Settings::read(),
        })
    }
}

impl Gpu for Gcn {
    unsafe fn load(
        &self,
        device: &Device,
        name: &str,
        version: u32,
        data: *const c_void,
    ) -> Result<Code> {
        // SAFETY: the caller vouches for it.
        let described = unsafe { ImageDescription::read(version, data)? };
        let bytes = described.bytes.len();
        let in_image = |error| gomp_plugin::Error::Image {
            name: name.to_owned(),
            source: Box::new(error),
        };
        let of_image = |error: Error| in_image(error.into());
        let tables = Tables::of(&described.bytes).map_err(of_image)?;
        let kernels = code_object::read(&described.bytes)
            .map_err(|error| of_image(error.into()))?
            .kernels;
        arguments::check(&kernels).map_err(of_image)?;
        let image = Image::from_bytes(name, described.bytes.as_slice());
        let image = image.map_err(revoff_host::RuntimeError::from)?;
        let program = device.runtime.load(&image, &Functions::new());
        let remedy = || {
            let processor = processor(device);
            format!("build the program with -foffload-options=amdgcn-amdhsa=-march={processor}")
        };
        let program = program.map_err(|error| refused(error, remedy))?;

        let read = |symbol, count, words| {
            read_table(device, &program, &tables, symbol, count, words).map_err(in_image)
        };
        let is_kernel = |name: &str| kernels.iter().any(|kernel| kernel.name == name);
        let names = described.functions;
        let words = read(FUNCTION_TABLE, names.len(), 1)?;
        let functions = names.into_iter().zip(words).map(|(name, word)| {
            // The table has kernels, too.
            let word = if is_kernel(&name) { 0 } else { word };
            Function { name, word }
        });
        let functions = functions.collect();
        let variables = read(VARIABLE_TABLE, described.variables, 2)?;
        let variables = variables.chunks_exact(2).map(|words| Global {
            address: DeviceAddr(words[0]),
            size: tables::bytes_of(words[1]),
        });
        let indirect = read(INDIRECT_TABLE, described.indirect, 1)?;
        let own = |name: &str| {
            let kernel = is_kernel(name).then(|| program.kernel(name));
            Ok(kernel.transpose()?)
        };
        Ok(Code {
            functions,
            variables: variables.collect(),
            indirect,
            calls_host: image.symbol(CALL).is_some(),
            about: format!("a code object of {bytes} bytes"),
            kernels: Box::new(Launcher::new(
                self.settings,
                heap(device, self.settings.heap)?,
                own,
            )?),
            program,
        })
    }
}

/// The `count` entries of `words` words each of the table at `symbol`.
fn read_table(
    device: &Device,
    program: &Program,
    tables: &Tables<'_>,
    symbol: &'static str,
    count: usize,
    words: usize,
) -> Result<Vec<u64>> {
    if count == 0 {
        return Ok(Vec::new());
    }
    tables.check(symbol, count, words)?;
    let table = program.global(symbol)?;
    let table = table.ok_or(Error::NotOnDevice(symbol))?;
    device.read_words(table.address, count * words)
}

/// Memory for the image's `malloc`: its size, followed by `bytes` bytes.
fn heap(device: &Device, bytes: u64) -> Result<DeviceBuffer> {
    let all = bytes.saturating_add(size_of::<u64>() as u64);
    let heap = device.memory(all);
    let heap = heap.map_err(|error| {
        let source = Box::new(error);
        Error::Heap { bytes, source }
    })?;
    device.write_bytes(heap.address(), &bytes.to_le_bytes())?;
    Ok(heap)
}
