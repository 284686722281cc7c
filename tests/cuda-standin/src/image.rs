//! Texts that represent images: PTX that host-rt can read, whose kernels are those of a shared
//! object for the `host` device.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use host_rt::Image;
use host_rt::image::ImageError;
use host_rt::shared_abi::image::{HOST_ARCH, HOST_WAIT};
use standin::declared;

/// The start of the line with the shared object's path.
const MARK: &str = "// stand-in: ";

/// Used instead of a path: a text that no linker accepts.
pub const DOES_NOT_LINK: &str = "does not link";

/// The text that represents the shared object at `path`, with the exports of `image`. `params`
/// returns the sizes of a kernel's parameters, which a shared object lacks, if they are not all 8
/// bytes.
///
/// # Errors
/// The image's declarations are invalid.
///
/// # Panics
/// `params` contradicts the declaration, or lacks a kernel that needs it.
pub fn ptx(
    path: &Path,
    image: &Image,
    params: impl Fn(&str) -> Option<Vec<usize>>,
) -> Result<String, ImageError> {
    let values = declared::values(image)?;
    let mut text = format!(
        ".version 7.8\n.target sm_90\n.address_size 64\n{MARK}{}\n",
        path.display()
    );
    let data = image.symbols().iter().filter(|symbol| !symbol.is_code);
    for symbol in
        data.filter(|symbol| symbol.size > 0 && ![HOST_ARCH, HOST_WAIT].contains(&&*symbol.name))
    {
        let (name, size) = (&symbol.name, symbol.size);
        let _ = write!(text, ".visible .global .align 8 .b8 {name}[{size}]");
        if let Some(value) = values.get(name) {
            let bytes: Vec<_> = value.iter().map(u8::to_string).collect();
            let _ = write!(text, " = {{{}}}", bytes.join(", "));
        }
        text.push_str(";\n");
    }
    for kernel in image.kernels()? {
        let declared = kernel
            .info
            .map(|info| (info.params as usize, info.bytes as usize));
        let sizes = params(&kernel.name).or_else(|| Some(vec![8; declared?.0]));
        let sizes = sizes.unwrap_or_else(|| panic!("kernel `{}`: unknown sizes", kernel.name));
        let found = (sizes.len(), sizes.iter().sum());
        assert_eq!(declared.unwrap_or(found), found, "kernel `{}`", kernel.name);
        let params = sizes.iter().enumerate();
        let params: Vec<_> = params
            .map(|(i, size)| format!(".param .b8 p{i}[{size}]"))
            .collect();
        let _ = writeln!(
            text,
            "{ENTRY}{}({}) {{ ret; }}",
            kernel.name,
            params.join(", ")
        );
    }
    Ok(text)
}

/// The first bytes of a fatbin. The stand-in's has a text after it, and a zero byte.
pub const FATBIN: [u8; 4] = 0xba55_ed50u32.to_le_bytes();

/// The text in an image.
pub(crate) fn text(image: &[u8]) -> Option<&str> {
    let text = image.strip_prefix(&FATBIN).unwrap_or(image);
    Some(str::from_utf8(text).ok()?.trim_end_matches('\0'))
}

/// The start of a kernel's line, and of all other exports.
const ENTRY: &str = ".visible .entry ";
const EXPORT: &str = ".visible ";

/// The contents of a text: a shared object, and its symbols.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) path: PathBuf,
    /// Sizes of the kernels' parameters.
    pub(crate) kernels: HashMap<String, Vec<usize>>,
    /// Names of data.
    pub(crate) data: Vec<String>,
}

/// Reads the output of [`ptx`], or several of these in sequence.
pub(crate) fn read(text: &str) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        if let Some(path) = line.strip_prefix(MARK) {
            if path == DOES_NOT_LINK {
                return Err("this text does not link".to_owned());
            }
            parts.push(Part {
                path: path.into(),
                kernels: HashMap::new(),
                data: Vec::new(),
            });
            continue;
        }
        let (Some(part), true) = (parts.last_mut(), line.starts_with(EXPORT)) else {
            continue;
        };
        if let Some(entry) = line.strip_prefix(ENTRY) {
            let (name, params) = entry.split_once('(').ok_or("a kernel without parameters")?;
            part.kernels.insert(name.to_owned(), numbers(params));
        } else if let Some((name, _)) = line.rsplit_once('[') {
            let name = name.rsplit(' ').next().unwrap_or_default();
            part.data.push(name.to_owned());
        }
    }
    if parts.is_empty() {
        return Err(format!("PTX, but no line `{MARK}/path/of/an/image.so`"));
    }
    Ok(parts)
}

/// The numbers in brackets.
fn numbers(text: &str) -> Vec<usize> {
    let inner = text.split('[').skip(1);
    inner
        .filter_map(|rest| rest.split(']').next()?.parse().ok())
        .collect()
}
