//! The plugin's messages about errors.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use compat::{
    Ending, MANDATORY, Program, fails, judge, lacks_registers, put, registers, test,
    write_executable,
};
use libtest_mimic::Trial;

use crate::image::place;
use crate::{ARCH, BUILD, Bench, GPUS, Gpus, ON_THE_HOST, Place, ROCR, Side, skipped};

/// An error, and its expected message.
struct Case {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    gpus: Gpus,
    /// Options of the offload compiler, if not the usual ones.
    options: Option<&'static str>,
    /// Changes the program's file.
    change: Option<Change>,
    ending: Ending,
    says: &'static [&'static str],
}

/// A change of a file.
#[derive(Clone, Copy)]
enum Change {
    /// Bytes, and their replacement of the same length.
    Bytes(&'static [u8], &'static [u8]),
    /// The program registers half of its image.
    HalfAnImage,
}

impl Change {
    /// # Errors
    /// The file has an unknown form.
    fn make(self, file: &mut [u8]) -> Result<(), String> {
        match self {
            Self::Bytes(old, new) => put(file, old, new),
            Self::HalfAnImage => {
                let size = place(file).ok_or("no code object in it")?.len() as u64;
                put(file, &size.to_le_bytes(), &(size / 2).to_le_bytes())
            }
        }
    }
}

/// Without a device, libgomp continues, and the reason is printed only on request.
const SAY_WHY: (&str, &str) = ("GOMP_DEBUG", "1");

/// The emulated runtime exists, and has no GPUs.
const NONE_LISTED: (&str, &str) = (GPUS, "0");

/// A program's registration of its image, and other versions of it.
const REGISTERS: &[u8] = &registers(3, 3);
const OF_A_LATER_PLUGIN: &[u8] = &registers(3, 4);
const OF_A_LATER_LIBGOMP: &[u8] = &registers(4, 3);

const CASES: [Case; 10] = [
    Case {
        gpus: Gpus::Broken,
        environment: &[SAY_WHY],
        ..case("no_runtime", &[ROCR, MANDATORY])
    },
    Case {
        gpus: Gpus::Real,
        environment: &[SAY_WHY],
        ..case("no_gpu", &["no AMD GPU: ", "/dev/kfd", MANDATORY])
    },
    Case {
        gpus: Gpus::Library,
        environment: &[("REVOFF_DEVICE", "hsa:7")],
        ..case(
            "no_such_gpu",
            &[
                "REVOFF_DEVICE=hsa:7: no `hsa:7` here; there are: hsa:0, hsa:1",
                MANDATORY,
            ],
        )
    },
    Case {
        gpus: Gpus::Library,
        environment: &[SAY_WHY, NONE_LISTED],
        ..case(
            "none_is_listed",
            &["no GPU: no devices of kind `hsa`", "lists none", MANDATORY],
        )
    },
    Case {
        gpus: Gpus::Library,
        environment: &[NONE_LISTED, ("REVOFF_DEVICE", "hsa:0")],
        ..case(
            "none_is_listed_of_those_asked_for",
            &["REVOFF_DEVICE=hsa:0: no devices of kind `hsa`", MANDATORY],
        )
    },
    Case {
        options: Some("-march=gfx900"),
        ..case(
            "image_for_another_gpu",
            &["loading an image: ", "gfx900", "=-march=gfx90a"],
        )
    },
    Case {
        change: Some(Change::Bytes(REGISTERS, OF_A_LATER_PLUGIN)),
        ..case(
            "image_of_a_later_plugin",
            &["loading an image: the image is of version 4 for AMD GPUs, this plugin knows 3"],
        )
    },
    Case {
        change: Some(Change::Bytes(REGISTERS, OF_A_LATER_LIBGOMP)),
        ..case("image_of_a_later_libgomp", &["Library too old for offload"])
    },
    Case {
        change: Some(Change::HalfAnImage),
        ..case(
            "image_of_half_its_size",
            &["loading an image: ", "no valid ELF file"],
        )
    },
    Case {
        change: Some(Change::Bytes(
            b"\0.offload_func_table\0",
            b"\0.offload_func_tabel\0",
        )),
        ..case(
            "image_without_a_table",
            &["loading an image: ", ".offload_func_table"],
        )
    },
];

const fn case(name: &'static str, says: &'static [&'static str]) -> Case {
    Case {
        name,
        environment: &[],
        gpus: Gpus::Linked,
        options: None,
        change: None,
        ending: Ending::Error,
        says,
    }
}

/// The tests, with a program that calls the host; and a test that it detects where it runs.
pub(crate) fn trials(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let program = Program::named(programs, "calls");
    let trial = |case: &'static Case| {
        let program = program.clone();
        let name = format!("bad::{}", case.name);
        let lacks = bench.and_then(|bench| case.lacks(bench));
        let cannot = skipped(&name, lacks) || bench.is_none();
        test(bench, name, move |bench| case.run(bench, &program?)).with_ignored_flag(cannot)
    };
    let on_the_host = program.clone();
    let guard = test(bench, "guard::on_the_host".to_owned(), move |bench| {
        let on_the_host = on_the_host?;
        let folder = bench.build(&on_the_host, BUILD)?;
        let what = (folder, &*on_the_host.name);
        let place = Place::emulated(Side::Ours, ARCH);
        let outcome = bench.run(&on_the_host, what, place, |command| {
            command.env("OMP_TARGET_OFFLOAD", "disabled");
        })?;
        fails(&on_the_host, &outcome, ON_THE_HOST)
    });
    let cases = const { &CASES }.iter().map(trial);
    cases.chain([guard]).collect()
}

impl Case {
    /// The reason why it cannot be tried, if there is one.
    fn lacks(&self, bench: &Bench) -> Option<String> {
        let gcc = &bench.gcc;
        if self.gpus == Gpus::Real && Path::new("/dev/kfd").exists() {
            return Some("there is a GPU".to_owned());
        }
        if self.gpus == Gpus::Real && bench.rocr().is_none() {
            return Some("no ROCr".to_owned());
        }
        if self.says.contains(&MANDATORY) && !gcc.heeds_mandatory() {
            return Some("its libgomp does not end programs that find no device".to_owned());
        }
        match self.change {
            Some(Change::Bytes(REGISTERS, _)) => lacks_registers(gcc),
            _ => None,
        }
    }

    fn run(&self, bench: &Bench, program: &Program) -> Result<(), String> {
        let program = Program {
            ending: self.ending,
            output: self.says.iter().map(|&text| text.to_owned()).collect(),
            ..program.clone()
        };
        let folder = match self.options {
            None => bench.build(&program, BUILD)?.to_path_buf(),
            Some(options) => bench.gcc.build_with(&program, BUILD, options)?,
        };
        let mut file = program.name.clone();
        if let Some(change) = self.change {
            file = self.name.to_owned();
            let outside = bench.gcc.outside(&folder);
            let (from, to) = (outside.join(&program.name), outside.join(&file));
            let read = fs::read(&from);
            let mut bytes = read.map_err(|error| format!("{}: {error}", from.display()))?;
            let changed = change.make(&mut bytes);
            changed.map_err(|error| format!("{}: {error}", from.display()))?;
            write_executable(&to, &bytes)?;
        }
        let place = Place {
            side: Side::Ours,
            gpus: self.gpus,
            arch: ARCH,
        };
        let outcome = bench.run(&program, (&folder, &file), place, |command| {
            command.envs(self.environment.iter().copied());
        })?;
        judge(&program, &outcome)
    }
}
