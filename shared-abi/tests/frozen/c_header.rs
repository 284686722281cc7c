//! The C headers against the tables: a generated C file asserts every size, alignment, offset,
//! field type and value, as C11 and as C++17.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::table::{Constant, Field, Type, Value};
use crate::{gcc, v2};

/// A compiler and its arguments.
struct Compiler {
    variable: &'static str,
    default: &'static str,
    suffix: &'static str,
    flags: &'static [&'static str],
}

const C: Compiler = Compiler {
    variable: "CC",
    default: "cc",
    suffix: "c",
    flags: &["-std=c11"],
};

const CXX: Compiler = Compiler {
    variable: "CXX",
    default: "c++",
    suffix: "cpp",
    flags: &["-std=c++17"],
};

const WARNINGS: &[&str] = &[
    "-Wall",
    "-Wextra",
    "-Wpedantic",
    "-Wmissing-declarations",
    "-Werror",
];

impl Compiler {
    fn name(&self) -> String {
        std::env::var(self.variable).unwrap_or_else(|_| self.default.to_owned())
    }

    fn is_there(&self) -> bool {
        Command::new(self.name()).arg("--version").output().is_ok()
    }

    /// Compiles `source` in a separate directory, with the headers in `include`. Returns the
    /// program.
    fn compile(&self, test: &str, include: &Path, source: &str) -> (Output, PathBuf) {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", self.suffix));
        fs::create_dir_all(&dir).expect("a directory in the target directory");
        let file = dir.join(format!("test.{}", self.suffix));
        let program = dir.join("test");
        fs::write(&file, source).expect("a file in the target directory");
        let output = Command::new(self.name())
            .args(self.flags)
            .args(WARNINGS)
            .arg("-I")
            .arg(include)
            .arg("-o")
            .arg(&program)
            .arg(&file)
            .output();
        match output {
            Ok(output) => (output, program),
            Err(error) => panic!(
                "cannot run the compiler `{}`: {error}. Install one (Debian: apt-get install gcc \
                 libc6-dev) or name one in the environment variable {}.",
                self.name(),
                self.variable
            ),
        }
    }

    /// Compiles and runs.
    fn run(&self, test: &str, source: &str) {
        let (output, program) = self.compile(test, &include(), source);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{} failed:\n{errors}", self.name());
        let run = Command::new(&program).output().expect("the program starts");
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(
            run.status.success(),
            "{} failed:\n{said}",
            program.display()
        );
    }

    /// The errors of a compilation that must fail.
    #[track_caller]
    fn fail(&self, test: &str, include: &Path, source: &str) -> String {
        let (output, _) = self.compile(test, include, source);
        assert!(
            !output.status.success(),
            "{test}: a wrong header went unnoticed"
        );
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

fn header() -> String {
    fs::read_to_string(include().join("revoff_abi.h")).expect("the header is in the repository")
}

fn types() -> impl Iterator<Item = &'static Type> {
    v2::TYPES.iter().chain(gcc::TYPES)
}

fn constants() -> Vec<Constant> {
    let mut constants = v2::constants();
    constants.extend(gcc::constants());
    constants
}

/// A program that compares the header with the tables.
fn program() -> String {
    let mut out = String::from(PRELUDE);
    for row in types() {
        let name = row.c_name;
        let _ = writeln!(
            out,
            "CHECK(sizeof({name}) == {}, \"size of {name}\");",
            row.size
        );
        let _ = writeln!(
            out,
            "CHECK(ALIGNOF({name}) == {}, \"alignment of {name}\");",
            row.align
        );
        for field in row.fields {
            check_field(&mut out, name, field);
        }
    }
    out.push_str("int main(void)\n{\n");
    for row in constants() {
        let name = row.c_name;
        let _ = match row.value {
            Value::Int(value) => {
                writeln!(
                    out,
                    "    CHECK({name} == {}, \"value of {name}\");",
                    literal(value)
                )
            }
            Value::Text(text) => writeln!(
                out,
                "    if (strcmp({name}, \"{text}\") != 0) return puts(\"value of {name}\"), 1;"
            ),
        };
    }
    out.push_str("    return 0;\n}\n");
    out
}

/// The differences between C and C++.
const PRELUDE: &str = r#"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "revoff_abi.h"
#ifdef __cplusplus
#include <type_traits>
#define CHECK(condition, what) static_assert(condition, what)
#define ALIGNOF(type) alignof(type)
#define IS(type, field, expected) std::is_same<decltype(type::field), expected>::value
#else
#define CHECK(condition, what) _Static_assert(condition, what)
#define ALIGNOF(type) _Alignof(type)
#define IS(type, field, expected) _Generic(&((type *)0)->field, expected *: 1, default: 0)
#endif
"#;

fn check_field(out: &mut String, name: &str, field: &Field) {
    let Field {
        name: field_name,
        offset,
        size,
        ty,
    } = field;
    let what = format!("{name}.{field_name}");
    let _ = writeln!(
        out,
        "CHECK(offsetof({name}, {field_name}) == {offset}, \"offset of {what}\");\n\
         CHECK(sizeof((({name} *)0)->{field_name}) == {size}, \"size of {what}\");"
    );
    let c_type = match *ty {
        "u16" => "uint16_t",
        "u32" => "uint32_t",
        "u64" => "uint64_t",
        "i32" => "int32_t",
        // The size is enough for an array or a struct, which has its own row.
        _ => return,
    };
    let _ = writeln!(
        out,
        "CHECK(IS({name}, {field_name}, {c_type}), \"type of {what}\");"
    );
}

/// C has no literals for the most negative values.
fn literal(value: i128) -> String {
    if value < 0 {
        format!("({}ll - 1)", value + 1)
    } else if value > i128::from(i32::MAX) {
        format!("{value}ull")
    } else {
        value.to_string()
    }
}

#[test]
fn the_header_agrees_in_c() {
    C.run("agrees", &program());
}

#[test]
fn the_header_agrees_in_cxx() {
    if skip_cxx() {
        return;
    }
    CXX.run("agrees", &program());
}

/// Reports that there is no C++ compiler, and does not fail: most device code is C.
#[allow(clippy::print_stderr, reason = "a skip is said, not hidden")]
fn skip_cxx() -> bool {
    let skip = !CXX.is_there();
    if skip {
        eprintln!(
            "SKIPPED: no C++ compiler `{}` (Debian: apt-get install g++)",
            CXX.name()
        );
    }
    skip
}

#[test]
fn a_wrong_header_does_not_compile() {
    for (test, old, new, error) in [
        (
            "size",
            "    uint32_t abi_version;",
            "    uint64_t abi_version;",
            "size of revoff_image_info",
        ),
        (
            "sign",
            "    int32_t dev_num;",
            "    uint32_t dev_num;",
            "type of revoff_gcc_slot.dev_num",
        ),
        (
            "order",
            "    uint32_t wire_kind;",
            "    uint32_t first; uint32_t wire_kind;",
            "offset of revoff_device_config.wire_kind",
        ),
        (
            "align",
            "struct REVOFF_ALIGNED(128) revoff_wake_word",
            "struct revoff_wake_word",
            "alignment of revoff_wake_word",
        ),
        (
            "value",
            "#define REVOFF_MAP_FROM 2",
            "#define REVOFF_MAP_FROM 1",
            "value of REVOFF_MAP_FROM",
        ),
        (
            "newtype",
            "typedef uint32_t revoff_status;",
            "typedef int64_t revoff_status;",
            "size of revoff_status",
        ),
        (
            "missing",
            "#define REVOFF_STATUS_DONE",
            "#define OTHER",
            "REVOFF_STATUS_DONE",
        ),
    ] {
        let right = header();
        let wrong = right.replace(old, new);
        assert_ne!(right, wrong, "{old:?} is not in the header");
        let include = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("wrong-{test}"));
        fs::create_dir_all(&include).expect("a directory in the target directory");
        fs::write(include.join("revoff_abi.h"), wrong).expect("a file there");
        let errors = C.fail(&format!("wrong-{test}"), &include, &program());
        assert!(errors.contains(error), "{test}: {errors}");
    }
}

/// Names that the header defines: the word after each of these line starts.
fn defined() -> BTreeSet<String> {
    let header = header();
    let mut names = BTreeSet::new();
    for line in header.lines() {
        let name = if let Some(rest) = line.strip_prefix("#define ") {
            // Macros with arguments and without a value are not constants.
            rest.split_once(' ')
                .map(|(name, _)| name)
                .filter(|name| !name.contains('('))
        } else if line.starts_with("typedef uint") || line.starts_with("} ") {
            line.trim_end_matches(';').rsplit(' ').next()
        } else {
            None
        };
        names.extend(name.map(str::to_owned));
    }
    names
}

#[test]
fn the_tables_name_all_that_the_header_defines() {
    let mut defined = defined();
    // An attribute, not a constant.
    assert!(defined.remove("REVOFF_NORETURN"));
    let mut tables: BTreeSet<String> = types().map(|row| row.c_name.to_owned()).collect();
    tables.extend(constants().iter().map(|row| row.c_name.to_owned()));
    assert_eq!(defined, tables);
}

/// A device image's code, with a stand-in for the device's side of the call.
const IMAGE: &str = r#"
#include <string.h>
#include "revoff.h"

REVOFF_HOST_FUNCTION(lookup)
REVOFF_HOST_FUNCTION(store)

REVOFF_KERNEL(translate, uint64_t *, uint32_t)
{
    uint64_t *numbers = REVOFF_PARAM(uint64_t *, 0);
    uint32_t count = REVOFF_PARAM(uint32_t, 1);
    for (uint32_t i = revoff_team() * revoff_threads() + revoff_thread(); i < count;
         i += revoff_teams() * revoff_threads()) {
        void *addrs[] = {&numbers[i]};
        size_t sizes[] = {sizeof numbers[i]};
        unsigned short kinds[] = {REVOFF_MAP_TOFROM};
        if (revoff_call(REVOFF_CALL(lookup), 1, addrs, sizes, kinds) != REVOFF_STATUS_DONE)
            numbers[i] = 0;
    }
}

REVOFF_KERNEL(nothing) { (void)params; }
REVOFF_KERNEL(one, const char *const *) { (void)params; }
REVOFF_KERNEL(most, char, short, int, long, char, short, int, long, char, short, int, long, char,
              short, int, double)
{
    (void)params;
}

static int is(revoff_kernel_info info, uint32_t params, uint32_t bytes)
{
    return info.params == params && info.bytes == bytes && info.signature == 0;
}

uint32_t revoff_team(void) { return 0; }
uint32_t revoff_teams(void) { return 1; }
uint32_t revoff_thread(void) { return 0; }
uint32_t revoff_threads(void) { return 1; }

void GOMP_target_ext(int device, void (*fn)(void *), size_t mapnum, void **hostaddrs,
                     size_t *sizes, unsigned short *kinds, unsigned int flags, void **depend,
                     void **args)
{
    uint32_t status = REVOFF_STATUS_NO_SUCH_FUNCTION;
    uint64_t number = 0;
    if (device == GOMP_DEVICE_HOST_FALLBACK && flags == REVOFF_FLAG_STATUS && depend == NULL
        && (uintptr_t)fn == (uintptr_t)&__revoff_fn_lookup && mapnum == 1
        && sizes[0] == sizeof number && kinds[0] == REVOFF_MAP_TOFROM) {
        memcpy(&number, hostaddrs[0], sizes[0]);
        number *= 10;
        memcpy(hostaddrs[0], &number, sizes[0]);
        status = REVOFF_STATUS_DONE;
    }
    memcpy((void *)args, &status, sizeof status);
}

int main(void)
{
    uint64_t numbers[] = {1, 2, 3};
    uint64_t *first = numbers;
    uint32_t count = 3;
    const void *params[] = {&first, &count};
    translate(params);
    if (!is(__revoff_kernel_translate, 2, sizeof first + sizeof count)
        || !is(__revoff_kernel_nothing, 0, 0) || !is(__revoff_kernel_one, 1, sizeof first)
        || !is(__revoff_kernel_most, 16, 4 * (1 + 2 + 4) + 3 * sizeof(long) + sizeof(double)))
        return 2;
    if (__revoff_fn_lookup.signature != 0 || REVOFF_CALL(lookup) == REVOFF_CALL(store))
        return 1;
    return !(numbers[0] == 10 && numbers[1] == 20 && numbers[2] == 30);
}
"#;

#[test]
fn an_image_in_c() {
    C.run("image", IMAGE);
}

#[test]
fn an_image_in_cxx() {
    if skip_cxx() {
        return;
    }
    CXX.run("image", IMAGE);
}
