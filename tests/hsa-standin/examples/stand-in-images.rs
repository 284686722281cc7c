//! Replaces code objects for AMD's GPUs by the stand-in's, so that a build for a GPU can be tested
//! without one:
//!
//!     stand-in-images FILE..
//!
//! Each file is one of several images, including one for the `host` device, which is written beside
//! it and runs. The replaced code object determines the parameters of each kernel.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::{env, fs, io};

use host_rt::Image;
use targets::offload_binary::{self, Entry};
use targets::{DeviceArch, code_object};

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<_> = env::args_os().skip(1).collect();
    if files.is_empty() {
        return Err("no file is named: stand-in-images FILE..".into());
    }
    for file in &files {
        let path = Path::new(file);
        let replaced = replace(path).map_err(|error| format!("{}: {error}", path.display()))?;
        writeln!(io::stdout(), "{}: {replaced}", path.display())?;
    }
    Ok(())
}

/// Replaces the code objects in a file; returns their targets.
fn replace(path: &Path) -> Result<String, Box<dyn Error>> {
    let bytes = fs::read(path)?;
    let mut entries = offload_binary::read(&bytes)?;
    let host = DeviceArch::this_machine().to_string();
    let is_host = |entry: &&Entry<'_>| entry.triple == host;
    let host = entries
        .iter()
        .find(is_host)
        .ok_or("no image for the host")?;
    let library = std::path::absolute(path.with_extension("so"))?;
    fs::write(&library, host.image)?;
    let image = Image::open(&library)?;

    let mut arches = Vec::new();
    let mut code_objects = Vec::new();
    for entry in entries.iter().filter(is_amd) {
        let real = code_object::read(entry.image)?;
        let target = real.target.as_ref().ok_or("a code object for no GPU")?;
        let params = |name: &str| {
            let kernel = real.kernels.iter().find(|kernel| kernel.name == name)?;
            Some(kernel.parameters().map(|arg| arg.size as usize).collect())
        };
        let made = hsa_standin::image::code_object(&library, &image, &target.to_string(), params);
        code_objects.push(made?);
        arches.push(entry.arch);
    }
    if arches.is_empty() {
        return Err("no image for an AMD GPU".into());
    }
    let replaced = arches.join(", ");
    let places = entries.iter_mut().filter(|entry| is_amd(&&**entry));
    for (entry, made) in places.zip(&code_objects) {
        entry.image = made;
    }
    fs::write(path, offload_binary::write(&entries))?;
    Ok(replaced)
}

fn is_amd(entry: &&Entry<'_>) -> bool {
    matches!(entry.arch.parse(), Ok(DeviceArch::Amd(_)))
}
