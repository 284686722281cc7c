//! Loading an image.

use std::ffi::c_void;

use gcc_piece::Swapped;
use gomp_plugin::image::refused;
use gomp_plugin::{Code, Device, Function, Gpu, Result, libgomp};
use revoff_host::targets::DeviceArch;
use revoff_host::{Functions, Image, Program};
use shared_abi::gomp::{NVPTX_CLOCKTICK, REV_OFFLOAD_VAR};
use shared_abi::image::RUNTIME;

use crate::error::Error;
use crate::image::ImageDescription;
use crate::launch::Launcher;
use crate::settings;

/// Device functions by the number in the host's table: 0, or the address that represents the
/// function in a call of the host.
const FUNCTION_TABLE: &str = "$offload_func_table";

/// Addresses of the functions that are called through pointers.
const INDIRECT_TABLE: &str = "$offload_ind_func_table";

/// The oldest architecture for which GCC supports reverse offload.
const OLDEST: u32 = 35;

/// The environment's settings for the devices.
pub(crate) struct Nvptx {
    /// Bytes of dynamic shared memory of a launch.
    lowlat: u32,
    /// Whether images get device-rt's `GOMP_target_ext`.
    swaps: bool,
}

impl Nvptx {
    pub(crate) fn read() -> Box<dyn Gpu> {
        Box::new(Self {
            lowlat: settings::lowlat(),
            swaps: settings::swaps(),
        })
    }

    /// Inserts device-rt's `GOMP_target_ext` into an image that has GCC's, which serves one call at
    /// a time; unsuitable images are unchanged.
    fn swap(&self, device: &Device, name: &str, texts: &mut Vec<String>) {
        if !self.swaps {
            libgomp::debug(&format!(
                "{name}: calls of the host stay GCC's: REVOFF_SWAP=0"
            ));
            return;
        }
        let (DeviceArch::Nvidia(sm) | DeviceArch::Emulated(sm)) = device.runtime.arch() else {
            return;
        };
        match gcc_piece::swap(texts, sm.number) {
            Ok(Swapped::Now) => {
                libgomp::debug(&format!("{name}: calls of the host are device-rt's"));
            }
            Ok(_) => {}
            Err(why) => libgomp::debug(&format!("{name}: calls of the host stay GCC's: {why}")),
        }
    }
}

impl Gpu for Nvptx {
    unsafe fn load(
        &self,
        device: &Device,
        name: &str,
        version: u32,
        data: *const c_void,
    ) -> Result<Code> {
        // SAFETY: the caller vouches for it.
        let mut described = unsafe { ImageDescription::read(version, data)? };
        self.swap(device, name, &mut described.texts);
        let image = link(name, &described)?;
        let program = device.runtime.load(&image, &Functions::new());
        let remedy = || match device.runtime.arch() {
            DeviceArch::Nvidia(sm) | DeviceArch::Emulated(sm) if sm.number < OLDEST => {
                format!("GCC's reverse offload takes sm_{OLDEST} or newer; use another device")
            }
            arch => {
                format!("build the program with -foffload-options=nvptx-none=-march-map={arch}")
            }
        };
        let program = program.map_err(|error| refused(error, remedy))?;

        let count = described.functions.len();
        let words = read_table(device, &program, FUNCTION_TABLE, count)?;
        // Without a table all functions are kernels.
        let words = words.unwrap_or_else(|| vec![0; count]);
        let functions = described.functions.into_iter().zip(words);
        let functions = functions.map(|(name, word)| Function { name, word });

        let variables = described.variables.iter().map(|variable| {
            let found = program.global(variable)?;
            let missing = || Error::NoVariable {
                image: name.to_owned(),
                variable: variable.clone(),
            };
            found.ok_or_else(|| missing().into())
        });
        let variables = variables.collect::<Result<Vec<_>>>()?;

        set_clock(device, &program)?;
        let indirect = match described.indirect {
            0 => Vec::new(),
            count => {
                let words = read_table(device, &program, INDIRECT_TABLE, count)?;
                words.ok_or(gomp_plugin::Error::NoIndirect(INDIRECT_TABLE))?
            }
        };
        // The first is GCC's, the second device-rt's.
        let calls_host = [REV_OFFLOAD_VAR, RUNTIME]
            .iter()
            .any(|symbol| image.symbol(symbol).is_some());
        Ok(Code {
            functions: functions.collect(),
            variables,
            indirect,
            calls_host,
            about: format!("{} PTX texts", described.texts.len()),
            kernels: Box::new(Launcher::new(&program, self.lowlat)),
            program,
        })
    }
}

/// The image that the device links the texts to.
fn link(
    name: &str,
    described: &ImageDescription,
) -> revoff_host::Result<Image, revoff_host::RuntimeError> {
    let parts = described.texts.iter().enumerate().map(|(at, text)| {
        let name = format!("{name}, PTX text {at}");
        Image::from_bytes(name, text.as_bytes())
    });
    let parts = parts.collect::<Result<Vec<_>, _>>();
    Ok(Image::link(name, parts?)?)
}

/// The `count` words of the table at `symbol`; `None` if the image has none.
fn read_table(
    device: &Device,
    program: &Program,
    symbol: &'static str,
    count: usize,
) -> Result<Option<Vec<u64>>> {
    let Some(table) = program.global(symbol)? else {
        return Ok(None);
    };
    if table.size != count as u64 * 8 {
        let bytes = table.size;
        return Err(Error::TableSize {
            symbol,
            bytes,
            count,
        }
        .into());
    }
    device.read_words(table.address, count).map(Some)
}

fn set_clock(device: &Device, program: &Program) -> Result<()> {
    let Some(tick) = program.global(NVPTX_CLOCKTICK)? else {
        return Ok(());
    };
    let seconds = 1e-3 / f64::from(device.runtime.clock_khz().max(1));
    device.write_bytes(tick.address, &seconds.to_ne_bytes())
}
