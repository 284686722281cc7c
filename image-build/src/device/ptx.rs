//! Adapts the compiler's PTX to other tools.

use targets::ptx::{Item, Malformed, items};

/// Adds the comments by which nvptx-tools (`nvptx-none-ld`, `-nm`, `-ar`) find the
/// symbols of a PTX file: they do not parse PTX, they look for lines of this form.
/// (nvptx-tools, README.)
pub(crate) fn with_markers(ptx: &str) -> Result<String, Malformed> {
    let mut marked = String::with_capacity(ptx.len() + 4096);
    let mut written = 0;
    for item in items(ptx.as_bytes())? {
        let Some((what, name)) = symbol(&item) else {
            continue;
        };
        let start = item.range.start;
        marked.push_str(&ptx[written..start]);
        marked.push_str(&format!("// BEGIN GLOBAL {what}: {name}\n"));
        written = start;
    }
    marked.push_str(&ptx[written..]);
    Ok(marked)
}

/// The global symbol that an item declares or defines, as nvptx-tools name it.
fn symbol<'a>(item: &Item<'a>) -> Option<(&'static str, &'a str)> {
    let what = match (item.linkage()?, item.is_function()) {
        (".visible", true) => "FUNCTION DEF",
        (".extern", true) => "FUNCTION DECL",
        (".visible", false) => "VAR DEF",
        (".extern", false) => "VAR DECL",
        _ => return None,
    };
    Some((what, item.name()?))
}

/// The first function or variable that PTX refers to and does not define, if there is one.
pub(crate) fn undefined(ptx: &str) -> Result<Option<&str>, Malformed> {
    // CUDA's drivers define these (CUDA Programming Guide; PTX Interoperability).
    const DRIVER: [&str; 4] = ["vprintf", "malloc", "free", "__assertfail"];
    let items = items(ptx.as_bytes())?.into_iter();
    let mut names = items
        .filter(|item| item.linkage() == Some(".extern"))
        .filter_map(|item| item.name());
    Ok(names.find(|name| !DRIVER.contains(name)))
}

/// Whether PTX defines a kernel.
pub(crate) fn has_kernels(ptx: &str) -> Result<bool, Malformed> {
    let items = items(ptx.as_bytes())?;
    Ok(items.iter().any(|item| item.kind() == Some(".entry")))
}

/// A kernel that only calls `GOMP_target_ext`, to be appended to PTX that defines it and has no
/// kernel.
///
/// A function for a linker follows the calling convention for every caller. Only with a kernel
/// around it does the assembler report the full cost of a call.
pub(crate) const CALLER: &str = "
.visible .entry revoff_caller(
\t.param .u32 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4,
\t.param .u64 p5, .param .u32 p6, .param .u64 p7, .param .u64 p8
)
{
\t.reg .b32 %r<2>;
\t.reg .b64 %rd<7>;
\tld.param.u32 %r0, [p0];
\tld.param.u64 %rd0, [p1];
\tld.param.u64 %rd1, [p2];
\tld.param.u64 %rd2, [p3];
\tld.param.u64 %rd3, [p4];
\tld.param.u64 %rd4, [p5];
\tld.param.u32 %r1, [p6];
\tld.param.u64 %rd5, [p7];
\tld.param.u64 %rd6, [p8];
\t{
\t.param .b32 a0;
\t.param .b64 a1;
\t.param .b64 a2;
\t.param .b64 a3;
\t.param .b64 a4;
\t.param .b64 a5;
\t.param .b32 a6;
\t.param .b64 a7;
\t.param .b64 a8;
\tst.param.b32 [a0], %r0;
\tst.param.b64 [a1], %rd0;
\tst.param.b64 [a2], %rd1;
\tst.param.b64 [a3], %rd2;
\tst.param.b64 [a4], %rd3;
\tst.param.b64 [a5], %rd4;
\tst.param.b32 [a6], %r1;
\tst.param.b64 [a7], %rd5;
\tst.param.b64 [a8], %rd6;
\tcall.uni GOMP_target_ext, (a0, a1, a2, a3, a4, a5, a6, a7, a8);
\t}
\tret;
}
";

#[cfg(test)]
mod tests {
    use super::{has_kernels, undefined, with_markers};

    const PTX: &str = "\
.version 6.3
.visible .global .align 8 .b8 __revoff_runtime[48];
.extern .global .align 4 .b8 there[16];
.visible .global .align 4 .u32 one = 1;
.visible .func GOMP_target_ext(
\t.param .b32 a
)
{
}
.extern .func  (.param .b32 func_retval0) other
(
);
.visible .func  (.param .b32 func_retval0) revoff_team()
{
}
.func inner()
{
}
.visible .entry greet()
{
}
";

    #[test]
    fn each_global_symbol_has_its_line_in_front() {
        let marked = with_markers(PTX).unwrap();
        let lines: Vec<_> = marked.lines().collect();
        for (mark, before) in [
            ("VAR DEF: __revoff_runtime", ".visible .global .align 8"),
            ("VAR DECL: there", ".extern .global"),
            ("VAR DEF: one", ".visible .global .align 4 .u32"),
            ("FUNCTION DEF: GOMP_target_ext", ".visible .func GOMP"),
            ("FUNCTION DECL: other", ".extern .func"),
            ("FUNCTION DEF: revoff_team", ".visible .func  (.param"),
            ("FUNCTION DEF: greet", ".visible .entry"),
        ] {
            let mark = format!("// BEGIN GLOBAL {mark}");
            let at = lines.iter().position(|line| *line == mark).expect(&mark);
            assert!(lines[at + 1].starts_with(before), "{}", lines[at + 1]);
        }
        assert_eq!(marked.matches("BEGIN GLOBAL").count(), 7);
        assert!(!marked.contains(": inner"));
        assert!(has_kernels(PTX).unwrap());
        assert!(!has_kernels(&PTX.replace(".entry", ".func")).unwrap());
        assert_eq!(undefined(PTX).unwrap(), Some("there"));
        let printf = ".extern .func  (.param .b32 func_retval0) vprintf ();\n";
        assert_eq!(undefined(printf).unwrap(), None);
    }
}
