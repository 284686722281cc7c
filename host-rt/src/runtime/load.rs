//! Loading images: their metadata (ABI version, wires, host functions), and whether it matches the
//! host's. The metadata is read before anything of the image runs.

use std::sync::{Arc, Mutex};

use shared_abi::gomp::REV_OFFLOAD_VAR;
use shared_abi::image::{FUNCTION_PREFIX, FunctionInfo, IMAGE_INFO, ImageInfo, RUNTIME};
use shared_abi::wire::WireKind;

use super::connect::Connected;
use super::loaded_program::LoadedProgram;
use super::{Functions, Inner, Program, Result, Runtime, connect};
use crate::device::{DeviceError, Global, Module};
use crate::image::{FunctionDeclaration, Image, ImageError};

impl Runtime {
    /// The image that [`load`](Self::load) loads: from a bundle, the image that fits the device
    /// best; otherwise `image` itself.
    ///
    /// # Errors
    /// The bundle has no image for this device.
    pub fn select(&self, image: &Image) -> Result<Image> {
        Ok(image.for_device(&self.inner.device.arch())?)
    }

    /// Loads `image`, or the best image of a bundle. Its kernels may call `functions`.
    ///
    /// # Errors
    /// The image is for another device or another ABI version, or declares another signature for
    /// one of `functions`.
    pub fn load(&self, image: &Image, functions: &Functions) -> Result<Program> {
        let image = &self.select(image)?;
        let metadata = if image.is_opaque() {
            None
        } else {
            let metadata = ImageMetadata::read(image)?;
            metadata.check(image, functions, self.inner.wire)?;
            Some(metadata)
        };
        let kernels = image.kernels()?;
        let module = self.inner.device.load(image)?;
        let metadata = match metadata {
            Some(metadata) => metadata,
            None => {
                let metadata = ImageMetadata::query(&self.inner, image, &*module, functions)?;
                metadata.check(image, functions, self.inner.wire)?;
                metadata
            }
        };
        let kind = metadata.wire(self.inner.wire);
        if let Some(kind) = kind {
            let wire = kind.name().unwrap_or("unknown");
            tracing::debug!(image = image.name(), wire, "loaded");
        }
        let Connected {
            variables,
            panic_record,
        } = connect::connect(&self.inner, image, &*module, kind)?;
        let mut known = Vec::new();
        let declared = metadata.functions.iter().map(|f| (f.name.as_str(), None));
        let own = self.inner.server.own_functions().iter();
        let registered = own.chain(functions.iter());
        let registered = registered.map(|entry| (entry.name(), Some(entry)));
        for (name, entry) in declared.chain(registered) {
            if let Some(global) = module.global(&symbol_of(name))? {
                known.push((global.address.0, name, entry));
            }
        }
        self.inner.server.change_functions(|table| {
            for &(word, name, entry) in &known {
                table.insert(word, name, entry);
            }
        });
        let words = known.into_iter().map(|(word, ..)| word).collect();
        Ok(Program {
            inner: Arc::new(LoadedProgram {
                runtime: Arc::clone(&self.inner),
                module,
                image: image.clone(),
                kernels,
                words: Mutex::new(words),
                _variables: variables,
                panic_record,
                calls_host: kind.is_some(),
            }),
        })
    }
}

/// The data symbol of the host function `name`.
fn symbol_of(name: &str) -> String {
    format!("{FUNCTION_PREFIX}{name}")
}

/// An image's metadata.
struct ImageMetadata {
    /// ABI version and wires; `None` for images without device-rt, such as GCC's.
    info: Option<ImageInfo>,
    needs_wire: bool,
    /// For an image without `info`, the GCC wire that its instructions speak; `None` if they do
    /// not show it.
    gcc_wire: Option<WireKind>,
    /// The host functions that the image declares. For an opaque image, only those of them that
    /// the host has registered.
    functions: Vec<FunctionDeclaration>,
}

impl ImageMetadata {
    /// Reads it from the image's file.
    fn read(image: &Image) -> Result<Self, ImageError> {
        let info = image.info()?;
        Ok(Self {
            info,
            needs_wire: image.needs_wire(),
            gcc_wire: info.is_none().then(|| image.gcc_wire()).flatten(),
            functions: image.functions()?,
        })
    }

    /// Reads it from the loaded image's variables on the device, before any kernel runs.
    fn query(
        inner: &Inner,
        image: &Image,
        module: &dyn Module,
        functions: &Functions,
    ) -> Result<Self> {
        let info = read_global(inner, image, module, IMAGE_INFO)?;
        let mut declared = Vec::new();
        for entry in functions.iter() {
            const SIZE: usize = size_of::<FunctionInfo>();
            let symbol = symbol_of(entry.name());
            if let Some(signature) = read_global::<SIZE>(inner, image, module, &symbol)? {
                declared.push(FunctionDeclaration {
                    name: entry.name().to_owned(),
                    signature: u64::from_le_bytes(signature),
                });
            }
        }
        let has = |symbol| Ok::<_, DeviceError>(module.global(symbol)?.is_some());
        Ok(Self {
            info: info.map(|info| image.info_from(&info)).transpose()?,
            needs_wire: has(RUNTIME)? || has(REV_OFFLOAD_VAR)?,
            gcc_wire: None,
            functions: declared,
        })
    }

    /// Checks that image and host agree, and that the image speaks the `requested` wire.
    fn check(
        &self,
        image: &Image,
        functions: &Functions,
        requested: Option<WireKind>,
    ) -> Result<(), ImageError> {
        if let Some(info) = self.info
            && info.abi_version != shared_abi::ABI_VERSION
        {
            return Err(ImageError::OtherAbi {
                name: image.name().to_owned(),
                image: info.abi_version,
                host: shared_abi::ABI_VERSION,
            });
        }
        if let Some(kind) = self.wire(requested)
            && self.wires() & kind.bit() == 0
        {
            return Err(ImageError::NoWire {
                name: image.name().to_owned(),
                wire: kind.name().unwrap_or("unknown").to_owned(),
                speaks: Image::wire_names(self.wires()),
            });
        }
        for entry in functions.iter() {
            let theirs = self
                .functions
                .iter()
                .find(|f| f.name == entry.name())
                .map_or(0, |f| f.signature);
            if theirs != 0 && entry.signature() != 0 && theirs != entry.signature() {
                return Err(ImageError::OtherSignature {
                    name: image.name().to_owned(),
                    function: entry.name().to_owned(),
                    image: theirs,
                    host: entry.signature(),
                });
            }
        }
        Ok(())
    }

    /// A bit mask of the wires that the image may be asked to speak. An image without `info` that
    /// calls the host is GCC's: a request for either of GCC's two wires is accepted, whatever its
    /// instructions are.
    fn wires(&self) -> u32 {
        self.info.map_or(
            WireKind::GCC_SLOT.bit() | WireKind::GCC_RING.bit(),
            |info| info.wires,
        )
    }

    /// The wire that the image will speak; `None` if it needs none. The default for an image of
    /// GCC's is the wire that its instructions speak, or else `gcc-slot`.
    fn wire(&self, requested: Option<WireKind>) -> Option<WireKind> {
        let default = if self.info.is_some() {
            WireKind::NATIVE
        } else {
            self.gcc_wire.unwrap_or(WireKind::GCC_SLOT)
        };
        self.needs_wire.then(|| requested.unwrap_or(default))
    }
}

/// The contents of the variable `symbol` on the device; `None` if the image has none.
pub(super) fn read_global<const N: usize>(
    inner: &Inner,
    image: &Image,
    module: &dyn Module,
    symbol: &str,
) -> Result<Option<[u8; N]>> {
    let Some(Global { address, size }) = module.global(symbol)? else {
        return Ok(None);
    };
    if size != N as u64 {
        let reason = format!("has {size} bytes, expected {N}");
        return Err(image.bad_symbol(symbol, reason).into());
    }
    let mut bytes = [0; N];
    let mut queue = inner.device.queue()?;
    // SAFETY: `bytes` is a local of N bytes, which nothing else uses until `synchronize` returns.
    unsafe { queue.copy_from_device(bytes.as_mut_ptr(), address, N)? };
    queue.synchronize()?;
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `GOMP_target_ext` of the parallel patch's form.
    const RING: &str = "\
.version 6.0
.target sm_35
.visible .func GOMP_target_ext (.param .u32 a)
{
ld.global.u64 %p,[__gomp_rev_offload_var];
atom.add.u32 %t,[%p],1;
and.b32 %t,%t,1023;
mad.wide.u32 %o,%t,56,%p;
st.u64 [%o+24],%a;
st.u64 [%o+32],%a;
st.u64 [%o+40],%a;
st.u64 [%o+48],%a;
st.u64 [%o+56],%a;
st.u32 [%o+64],%a;
st.volatile.global.u64 [%o+16],%f;
}
";
    const VARIABLE: &str = ".version 6.0
.target sm_35
.visible .global .align 8 .u64 __gomp_rev_offload_var[1];
";

    fn metadata(texts: &[&str]) -> ImageMetadata {
        let parts = texts.iter().map(|text| {
            let part = Image::from_bytes("a part", text.as_bytes());
            part.expect("PTX is recognised")
        });
        let image = Image::link("an image", parts.collect()).expect("the parts link");
        ImageMetadata::read(&image).expect("the image has no metadata")
    }

    #[test]
    fn instructions_of_an_image_without_metadata_tell_its_wire() {
        let ring = metadata(&[VARIABLE, RING]);
        assert_eq!(ring.wire(None), Some(WireKind::GCC_RING));
        assert_eq!(
            ring.wire(Some(WireKind::GCC_SLOT)),
            Some(WireKind::GCC_SLOT)
        );
        let unknown = metadata(&[VARIABLE]);
        assert_eq!(unknown.wire(None), Some(WireKind::GCC_SLOT));
        assert_eq!(metadata(&[".version 6.0\n"]).wire(None), None);
    }
}
