//! The plugin's messages about invalid environments and images.

use std::fs;

use compat::{
    Ending, Gcc, MANDATORY, Program, judge, lacks_registers, put, registers, write_executable,
};

use crate::{BUILDS, Bench};

/// An error, and its expected message.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// The program that causes it.
    pub(crate) program: &'static str,
    environment: &'static [(&'static str, &'static str)],
    /// A change of the program's file.
    edit: Option<Edit>,
    ending: Ending,
    says: &'static [&'static str],
}

/// Bytes, and their replacement of the same length.
type Edit = (&'static [u8], &'static [u8]);

const EMU: (&str, &str) = ("REVOFF_DEVICE", "emu:sm_60");

/// A program's registration of its image, and other versions of it.
const REGISTERS: &[u8] = &registers(3, 1);
const OF_A_LATER_PLUGIN: &[u8] = &registers(3, 2);
const OF_A_LATER_LIBGOMP: &[u8] = &registers(4, 1);

pub(crate) static CASES: [Case; 21] = [
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
    // Valid on a machine with enough GPUs, which is unlikely.
    device(
        "cuda:4095",
        &["REVOFF_DEVICE=cuda:4095: ", "cuda", MANDATORY],
    ),
    device(
        "emu:sm_9",
        &["cannot use device `emu:sm_9`: `sm_9` is not supported"],
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
    // A valid value.
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
        &["device `emu:sm_60` cannot map", "REVOFF_EMU_MEMORY"],
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
            "nowait",
            &[EMU, ("REVOFF_NOWAIT", "sinc")],
            &["REVOFF_NOWAIT=sinc: expected `sync` or `async`; it counts as unset"],
        )
    },
    // The message names the program's requirement, without its variable.
    Case {
        program: "nowait_sync",
        ending: Ending::Exit(1),
        ..with(
            "nowait_beside_the_thread",
            &[EMU, ("REVOFF_NOWAIT", "async")],
            &["met is 1, expected 0"],
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
            "loading an image: ",
            " is PTX for sm_",
            "but device `emu:sm_30` loads PTX for sm_30 or older: GCC's reverse offload takes sm_35 \
             or newer; use another device",
            "libgomp now ends the program",
        ],
    ),
    image(
        "of_no_ptx",
        (b".visible .entry main$", b".visible .entry ?ain$"),
        &[
            "loading an image: cannot load bad-image-of_no_ptx",
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
        (REGISTERS, OF_A_LATER_PLUGIN),
        &["loading an image: the image is of version 2 for NVIDIA GPUs, this plugin knows 1"],
    ),
    // libgomp's own message.
    image(
        "of_a_later_libgomp",
        (REGISTERS, OF_A_LATER_LIBGOMP),
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
    /// The test's name.
    pub(crate) fn title(&self) -> String {
        let what = match (self.edit, self.environment) {
            (Some(_), _) => "image",
            (_, []) => "device",
            _ => "environment",
        };
        format!("bad::{what}::{}", self.name.replace(':', "_"))
    }

    /// The reason why it cannot be tried, if there is one.
    pub(crate) fn lacks(&self, gcc: Option<&Gcc>) -> Option<String> {
        let gcc = gcc?;
        if self.says.contains(&MANDATORY) && !gcc.heeds_mandatory() {
            return Some("its libgomp does not end programs that find no device".to_owned());
        }
        let edits_code = self.edit.is_some_and(|(from, _)| from == REGISTERS);
        edits_code.then(|| lacks_registers(gcc)).flatten()
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
                let from = folder.join(&program.name);
                let in_it = |error: String| format!("{}: {error}", from.display());
                let mut bytes = fs::read(&from).map_err(|error| in_it(error.to_string()))?;
                put(&mut bytes, edit.0, edit.1).map_err(in_it)?;
                write_executable(&folder.join(&name), &bytes)?;
                name
            }
        };
        let plugin = bench.plugin.as_deref();
        let outcome = bench.run_file(&program, BUILDS[0], &file, plugin, |command| {
            command.env("OMP_TARGET_OFFLOAD", "mandatory");
            command.env("REVOFF_DEVICE", self.name);
            command.envs(self.environment.iter().copied());
        })?;
        judge(&program, &outcome)?;
        // libgomp loads the plugin for AMD GPUs too, which reads the same environment.
        let messages = || {
            outcome
                .stderr
                .lines()
                .filter(|line| line.contains("REVOFF_"))
        };
        let twice = messages().find(|line| messages().filter(|other| other == line).count() > 1);
        twice.map_or(Ok(()), |line| Err(format!("it says twice: {line}")))
    }
}
