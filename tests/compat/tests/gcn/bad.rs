//! What the plugin says of what it cannot do.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use compat::{Ending, Program, judge, test, write_executable};
use libtest_mimic::Trial;

use crate::image::place;
use crate::{Bench, ROCR, Runtime, Side, lacks};

/// Something that is wrong, and what becomes of it.
struct Case {
    name: &'static str,
    environment: &'static [(&'static str, &'static str)],
    runtime: Runtime,
    /// Options of the offload compiler, if not the usual ones.
    options: Option<&'static str>,
    /// Changes the program's file.
    change: Option<Change>,
    ending: Ending,
    says: &'static [&'static str],
}

/// Changes a file, or says that it is not as it is known.
type Change = fn(&mut [u8]) -> Option<()>;

/// In libgomp's own words: there is no device, and there has to be one.
const MANDATORY: &str = "MANDATORY";

/// Where there is no device, libgomp goes on, and what is missing is said only if asked for.
const SAY_WHY: (&str, &str) = ("GOMP_DEBUG", "1");

/// What stands in for AMD's runtime is there, and has no GPUs.
const NONE_LISTED: (&str, &str) = ("REVOFF_HSA_STAND_IN_DEVICES", "0");

/// Where a program by GCC 14 or newer tells libgomp of its image (`mov $0x30003, %edi`).
const REGISTERS: &[u8] = b"\xbf\x03\x00\x03\x00";

const CASES: [Case; 10] = [
    Case {
        runtime: Runtime::Broken,
        environment: &[SAY_WHY],
        ..case("no_runtime", &[ROCR, MANDATORY])
    },
    Case {
        runtime: Runtime::Real,
        environment: &[SAY_WHY],
        ..case("no_gpu", &["no AMD GPU: ", "/dev/kfd", MANDATORY])
    },
    Case {
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
        environment: &[SAY_WHY, NONE_LISTED],
        ..case(
            "none_is_listed",
            &["no GPU: no devices of kind `hsa`", "lists none", MANDATORY],
        )
    },
    Case {
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
        change: Some(|file| put(file, REGISTERS, b"\xbf\x04\x00\x03\x00")),
        ..case(
            "image_of_a_later_plugin",
            &["loading an image: the image is of version 4 for AMD GPUs, this plugin knows 3"],
        )
    },
    Case {
        change: Some(|file| put(file, REGISTERS, b"\xbf\x03\x00\x04\x00")),
        ..case("image_of_a_later_libgomp", &["Library too old for offload"])
    },
    Case {
        change: Some(halve),
        ..case(
            "image_of_half_its_size",
            &["loading an image: ", "broken ELF"],
        )
    },
    Case {
        change: Some(|file| put(file, b"\0.offload_func_table\0", b"\0.offload_func_tabel\0")),
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
        runtime: Runtime::StandIn,
        options: None,
        change: None,
        ending: Ending::Error,
        says,
    }
}

/// Puts other bytes, as many, in the place of some.
fn put(file: &mut [u8], old: &[u8], new: &[u8]) -> Option<()> {
    assert_eq!(old.len(), new.len(), "nothing else may move");
    let places = (0..file.len()).filter(|&at| file[at..].starts_with(old));
    let places: Vec<_> = places.collect();
    for &at in &places {
        file[at..][..new.len()].copy_from_slice(new);
    }
    (!places.is_empty()).then_some(())
}

/// Has the program say that its image is half as long.
fn halve(file: &mut [u8]) -> Option<()> {
    let size = place(file)?.len() as u64;
    put(file, &size.to_le_bytes(), &(size / 2).to_le_bytes())
}

/// The tests, with a program that calls the host; and that it finds out where it runs.
pub(crate) fn trials(bench: Option<&Arc<Bench>>, programs: &[Program]) -> Vec<Trial> {
    let program = programs.iter().find(|program| program.name == "calls");
    let Some(program) = program else {
        return Vec::new();
    };
    let trial = |case: &'static Case| {
        let program = program.clone();
        let name = format!("bad::{}", case.name);
        let cannot = match (case.runtime, bench) {
            (Runtime::Real, Some(bench)) => {
                Path::new("/dev/kfd").exists() || bench.rocr().is_none()
            }
            _ => false,
        };
        if cannot {
            compat::say(&format!("SKIPPED compat, {name}: no ROCr, or a GPU"));
        }
        test(bench, name, move |bench| case.run(bench, &program))
            .with_ignored_flag(cannot || lacks(bench, Side::Ours))
    };
    let on_the_host = program.clone();
    let guard = test(bench, "guard::on_the_host".to_owned(), move |bench| {
        let folder = bench.build(&on_the_host)?;
        let what = (folder, &*on_the_host.name);
        let where_to = (Side::Gccs, Runtime::StandIn);
        let outcome = bench.run(&on_the_host, what, where_to, |command| {
            command.env("OMP_TARGET_OFFLOAD", "disabled");
        })?;
        let told = judge(&on_the_host, &outcome).err();
        let told = told.ok_or("it passed without a device")?;
        let found = told.contains("data.initial is 1, expected 0");
        found.then_some(()).ok_or(told)
    });
    let cases = const { &CASES }.iter().map(trial);
    cases.chain([guard]).collect()
}

impl Case {
    fn run(&self, bench: &Bench, program: &Program) -> Result<(), String> {
        let program = Program {
            ending: self.ending,
            output: self.says.iter().map(|&text| text.to_owned()).collect(),
            ..program.clone()
        };
        let folder = match self.options {
            None => bench.build(&program)?.to_path_buf(),
            Some(options) => bench.gcc.build_with(&program, crate::BUILD, options)?,
        };
        let mut file = program.name.clone();
        if let Some(change) = self.change {
            file = self.name.to_owned();
            let outside = bench.gcc.outside(&folder);
            let (from, to) = (outside.join(&program.name), outside.join(&file));
            let read = fs::read(&from);
            let mut bytes = read.map_err(|error| format!("{}: {error}", from.display()))?;
            change(&mut bytes).ok_or("the program's file is not as it is known")?;
            write_executable(&to, &bytes)?;
        }
        let outcome = bench.run(
            &program,
            (&folder, &file),
            (Side::Ours, self.runtime),
            |command| {
                command.envs(self.environment.iter().copied());
            },
        )?;
        judge(&program, &outcome)
    }
}
