//! What the plugin says of what it cannot do: of its environment, and of images.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;

use compat::{Ending, Gcc, Program, judge, write_executable};

use crate::{BUILDS, Bench};

/// Something that is wrong, and what becomes of it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The program that runs into it.
    pub(crate) program: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// Changed in the program's file.
    edit: Option<Edit>,
    ending: Ending,
    says: &'static [&'static str],
}

/// Bytes, and what is in their place: as many.
type Edit = (&'static [u8], &'static [u8]);

/// In libgomp's own words: there is no device, and there has to be one.
pub(crate) const MANDATORY: &str = "MANDATORY";

const EMU: (&str, &str) = ("REVOFF_DEVICE", "emu:sm_60");

/// Where a program by GCC 14 or newer tells libgomp of its image (`mov $0x30001, %edi`).
const REGISTERS: &[u8] = b"\xbf\x01\x00\x03\x00";

pub(crate) static CASES: [Case; 19] = [
    device(
        "nonsense",
        &[
            "REVOFF_DEVICE=nonsense: `nonsense` runs no images",
            MANDATORY,
        ],
    ),
    device(
        "host",
        &["REVOFF_DEVICE=host: `host` runs no images", MANDATORY],
    ),
    // On a machine with as many GPUs it would be right; that one is not known.
    device(
        "cuda:4095",
        &["REVOFF_DEVICE=cuda:4095: ", "cuda", MANDATORY],
    ),
    device(
        "emu:sm_9",
        &["device `emu:sm_9` is of no use here: `sm_9` is no architecture"],
    ),
    Case {
        name: "beside_a_device",
        environment: &[("REVOFF_DEVICE", "emu:sm_60,nonsense")],
        ending: Ending::Ok,
        ..device(
            "",
            &["REVOFF_DEVICE=emu:sm_60,nonsense: `nonsense` runs no images"],
        )
    },
    // Nothing is wrong with it.
    Case {
        program: "every_device",
        ending: Ending::Ok,
        ..with(
            "several_devices",
            &[("REVOFF_DEVICE", "emu:sm_60,emu,emu:sm_70")],
            &[],
        )
    },
    with(
        "too_little_memory_for_an_image",
        &[EMU, ("REVOFF_EMU_MEMORY", "1M")],
        &[
            "device `emu:sm_60` cannot allocate",
            "REVOFF_EMU_MEMORY sets its size",
        ],
    ),
    Case {
        program: "much_data",
        ..with(
            "too_little_memory_for_data",
            &[EMU, ("REVOFF_EMU_MEMORY", "48M")],
            &["allocating device memory: device `emu:sm_60` cannot allocate"],
        )
    },
    with(
        "memory_of_what_size",
        &[EMU, ("REVOFF_EMU_MEMORY", "much")],
        &["REVOFF_EMU_MEMORY=\"much\""],
    ),
    with(
        "no_threads",
        &[EMU, ("GOMP_REVERSE_OFFLOAD_THREADS", "0")],
        &["GOMP_REVERSE_OFFLOAD_THREADS=\"0\": a number from 1 to"],
    ),
    Case {
        ending: Ending::Ok,
        ..with(
            "swap",
            &[EMU, ("REVOFF_SWAP", "2")],
            &["REVOFF_SWAP=2: expected a switch, 0 to 1; it counts as unset"],
        )
    },
    Case {
        ending: Ending::Ok,
        ..with(
            "low_latency_pool",
            &[EMU, ("GOMP_NVPTX_LOWLAT_POOL", "some")],
            &["GOMP_NVPTX_LOWLAT_POOL=some: expected a number of bytes, 0 to"],
        )
    },
    with(
        "low_latency_pool_of_all",
        &[EMU, ("GOMP_NVPTX_LOWLAT_POOL", "9000000")],
        &["the target region main._omp_fn.", "shared memory"],
    ),
    with(
        "image_for_a_newer_device",
        &[("REVOFF_DEVICE", "emu:sm_30")],
        &[
            "loading an image: cannot load ",
            " is for sm_",
            "this device is sm_30",
        ],
    ),
    image(
        "of_no_ptx",
        (b".visible .entry main$", b".visible .entry ?ain$"),
        &[
            "loading an image: cannot load bad-image-of_no_ptx: ",
            "PTX text 0:",
        ],
    ),
    image(
        "without_a_kernel",
        (
            b".visible .entry main$_omp_fn$0",
            b".visible .entry mine$_omp_fn$0",
        ),
        &["loading an image: ", "main$_omp_fn$0"],
    ),
    image(
        "without_an_instruction",
        (b"call GOMP_target_ext,", b"call GOMP_target_was,"),
        &["loading an image: cannot load ", "GOMP_target_was"],
    ),
    image(
        "of_a_later_plugin",
        (REGISTERS, b"\xbf\x02\x00\x03\x00"),
        &["loading an image: the image is of version 2 for NVIDIA GPUs, this plugin knows 1"],
    ),
    // libgomp's own words.
    image(
        "of_a_later_libgomp",
        (REGISTERS, b"\xbf\x01\x00\x04\x00"),
        &["Library too old for offload"],
    ),
];

const fn with(
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    says: &'static [&'static str],
) -> Case {
    Case {
        name,
        program: "no_data",
        environment,
        edit: None,
        ending: Ending::Error,
        says,
    }
}

/// `REVOFF_DEVICE` is `name`.
const fn device(name: &'static str, says: &'static [&'static str]) -> Case {
    with(name, &[], says)
}

const fn image(name: &'static str, edit: Edit, says: &'static [&'static str]) -> Case {
    Case {
        edit: Some(edit),
        ..with(name, &[EMU], says)
    }
}

impl Case {
    /// What the test is called.
    pub(crate) fn title(&self) -> String {
        let what = match (self.edit, self.environment) {
            (Some(_), _) => "image",
            (_, []) => "device",
            _ => "environment",
        };
        format!("bad::{what}::{}", self.name.replace(':', "_"))
    }

    /// Why it cannot be tried, if it cannot.
    pub(crate) fn lacks(&self, gcc: Option<&Gcc>) -> Option<String> {
        let gcc = gcc?;
        if self.says.contains(&MANDATORY) && !gcc.heeds_mandatory() {
            return Some("its libgomp does not end programs that find no device".to_owned());
        }
        let edits_code = self.edit.is_some_and(|(from, _)| from == REGISTERS);
        let reason = match (ARCH, gcc.version()) {
            ("x86_64", 14..) => return None,
            ("x86_64", version) => format!("GCC {version} has images of another version"),
            _ => format!("no instruction of {ARCH}'s to change"),
        };
        edits_code.then_some(reason)
    }

    pub(crate) fn run(&self, bench: &Bench, program: &Program) -> Result<(), String> {
        let program = Program {
            ending: self.ending,
            output: self.says.iter().map(|&text| text.to_owned()).collect(),
            ..program.clone()
        };
        let file = match self.edit {
            None => program.name.clone(),
            Some(edit) => {
                let gcc = bench.gcc().ok_or("no GCC built the program")?;
                let folder = gcc.outside(bench.build(&program, BUILDS[0])?);
                let name = self.title().replace("::", "-");
                change(&folder.join(&program.name), &folder.join(&name), edit)?;
                name
            }
        };
        let plugin = bench.plugin.as_deref();
        let outcome = bench.run_file(&program, BUILDS[0], &file, plugin, |command| {
            command.env("OMP_TARGET_OFFLOAD", "mandatory");
            command.env("REVOFF_DEVICE", self.name);
            command.envs(self.environment.iter().copied());
        })?;
        judge(&program, &outcome)
    }
}

/// A copy of a program, in which something is other.
fn change(from: &Path, to: &Path, (old, new): Edit) -> Result<(), String> {
    assert_eq!(old.len(), new.len(), "nothing else may move");
    let mut bytes = fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let places: Vec<_> = (0..bytes.len())
        .filter(|&at| bytes[at..].starts_with(old))
        .collect();
    if places.is_empty() {
        let old = String::from_utf8_lossy(old);
        return Err(format!("{}: no {old:?} to change", from.display()));
    }
    for at in places {
        bytes[at..][..new.len()].copy_from_slice(new);
    }
    write_executable(to, &bytes)
}
