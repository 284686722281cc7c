//! The stacks of NVIDIA GPUs.
//!
//! This changes the text that LLVM's back end writes. There, a function's variables are an array
//! `__local_depot`, whose address the registers `%SPL` (local) and `%SP` (generic) contain.

use std_calls::kernel::{STACK_ALIGN, STACK_BYTES_PARAMETER, STACK_RESERVE, STACKS_PARAMETER};

use super::{OVERFLOW, StackError};

/// The words in shared memory: top and end.
const DECLARATION: &str = "\
.shared .align 8 .b64 __revoff_stack[2];
.visible .func std_stack_overflow
(
)
;
";

/// `ptx`, with all stacks in global memory.
pub(crate) fn in_global_memory(ptx: &str) -> Result<String, StackError> {
    let mut moved = String::with_capacity(ptx.len() + ptx.len() / 8);
    let mut frame = None;
    // A function may have variables and never name their address.
    let mut has_entered = false;
    let mut is_declared = false;
    let mut entry = None;
    for line in ptx.lines() {
        let text = line.trim();
        if !is_declared && text.starts_with(".address_size") {
            moved.push_str(line);
            moved.push('\n');
            moved.push_str(DECLARATION);
            is_declared = true;
            continue;
        }
        if let Some(rest) = text.strip_prefix(".visible .entry ") {
            entry = Some(rest.split('(').next().unwrap_or(rest).to_owned());
        }
        match text {
            "{" if entry.is_some() => {
                moved.push_str("{\n");
                let name = entry.take().unwrap_or_default();
                moved.push_str(&prepare(&name));
            }
            "}" if line == "}" => {
                (frame, has_entered) = (None, false);
                moved.push_str("}\n");
            }
            _ if text.starts_with(".local ") => {
                frame = Some(Frame::parse(text).ok_or_else(|| StackError(text.to_owned()))?);
                moved.push_str("\t.reg .pred \t%SPO;\n\t.reg .b64 \t%SPT, %SPN, %SPE;\n");
            }
            _ if text.starts_with("mov.b64 ") && text.contains("%SPL, __local_depot") => {
                let frame: &Frame = frame.as_ref().ok_or_else(|| StackError(text.to_owned()))?;
                moved.push_str(&frame.enter(moved.len()));
                has_entered = true;
            }
            _ if has_entered && (text == "ret;" || text.ends_with(" ret;")) => {
                let guard = text.strip_suffix("ret;").unwrap_or_default();
                moved.push_str(&format!(
                    "\t{guard}st.shared.u64 \t[__revoff_stack], %SPT;\n{line}\n"
                ));
            }
            _ => {
                moved.push_str(&global(line)?);
                moved.push('\n');
            }
        }
    }
    Ok(moved)
}

/// The frame of a function: an array with this size and alignment.
struct Frame {
    size: u64,
    align: u64,
}

impl Frame {
    /// `.local .align 8 .b8 __local_depot3[40];`
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let align = words.by_ref().skip_while(|word| *word != ".align").nth(1)?;
        let (name, size) = text.rsplit_once('[')?;
        if !name.contains("__local_depot") {
            return None;
        }
        Some(Self {
            size: size.strip_suffix("];")?.parse().ok()?,
            align: align.parse().ok()?,
        })
    }

    /// Takes the frame from the stack. `number` makes the label unique. If there is no room, the report
    /// of that runs behind the frames that fit, within the bytes that are left for it.
    fn enter(&self, number: usize) -> String {
        let align = self.align.max(STACK_ALIGN);
        let mut code = "\tld.shared.u64 \t%SPT, [__revoff_stack];\n".to_owned();
        if align > STACK_ALIGN {
            code.push_str(&format!(
                "\tadd.u64 \t%SPL, %SPT, {};\n\tand.b64 \t%SPL, %SPL, -{align};\n",
                align - 1
            ));
        } else {
            code.push_str("\tmov.b64 \t%SPL, %SPT;\n");
        }
        code.push_str(&format!(
            "\tadd.u64 \t%SPN, %SPL, {};\n\
             \tld.shared.u64 \t%SPE, [__revoff_stack+8];\n\
             \tsetp.gt.u64 \t%SPO, %SPN, %SPE;\n\t@!%SPO bra \t$L__stack{number};\n\
             \tst.shared.u64 \t[__revoff_stack+8], -1;\n\t{{\n\tcall.uni {OVERFLOW}, ();\n\t}}\n\
             $L__stack{number}:\n\tst.shared.u64 \t[__revoff_stack], %SPN;\n",
            self.size.next_multiple_of(STACK_ALIGN)
        ));
        code
    }
}

/// The beginning of the kernel `name`: the calling thread's stack.
fn prepare(name: &str) -> String {
    format!(
        "\t{{\n\t.reg .b32 \t%SPI;\n\t.reg .b64 \t%SPA, %SPB, %SPC;\n\
         \tld.param.b64 \t%SPA, [{name}_param_{STACKS_PARAMETER}];\n\
         \tld.param.b64 \t%SPB, [{name}_param_{STACK_BYTES_PARAMETER}];\n\
         \tcvta.to.global.u64 \t%SPA, %SPA;\n\
         \tmov.u32 \t%SPI, %ctaid.x;\n\
         \tcvt.u64.u32 \t%SPC, %SPI;\n\
         \tmul.lo.u64 \t%SPC, %SPC, %SPB;\n\
         \tadd.u64 \t%SPA, %SPA, %SPC;\n\
         \tst.shared.u64 \t[__revoff_stack], %SPA;\n\
         \tadd.u64 \t%SPA, %SPA, %SPB;\n\
         \tsub.u64 \t%SPA, %SPA, {STACK_RESERVE};\n\
         \tst.shared.u64 \t[__revoff_stack+8], %SPA;\n\t}}\n"
    )
}

/// An instruction that names local memory, with global memory instead.
fn global(line: &str) -> Result<String, StackError> {
    let text = line.trim_start();
    let code = text.split("//").next().unwrap_or(text);
    let Some(instruction) = code.split_whitespace().find(|word| !word.starts_with('@')) else {
        return Ok(line.to_owned());
    };
    if !instruction.split('.').any(|part| part == "local") {
        return Ok(line.to_owned());
    }
    let known = ["ld.", "st.", "cvta.", "atom.", "red."];
    if !known.iter().any(|name| instruction.starts_with(name)) {
        return Err(StackError(code.to_owned()));
    }
    Ok(line.replacen(instruction, &instruction.replace(".local", ".global"), 1))
}

#[cfg(test)]
mod tests {
    use super::in_global_memory;

    /// A function with a frame, as LLVM writes it.
    const FUNCTION: &str = "\
.version 6.3
.target sm_70
.address_size 64

.visible .func  (.param .b32 func_retval0) f(
\t.param .b64 f_param_0
)
{
\t.local .align 64 .b8 \t__local_depot0[40];
\t.reg .b64 \t%SP;
\t.reg .b64 \t%SPL;
\t.reg .pred \t%p<2>;

\tmov.b64 \t%SPL, __local_depot0;
\tcvta.local.u64 \t%SP, %SPL;
\t@%p1 ret;
\tst.local.v2.b32 \t[%SPL+8], {7, 8};
\tld.local.b32 \t%r1, [%SPL+4]; // .local
\tatom.relaxed.sys.local.cas.b32 \t%r2, [%SPL], %r3, %r4;
\tret;
}
";

    #[test]
    fn a_frame_is_taken_from_the_stack_and_given_back() {
        let moved = in_global_memory(FUNCTION).unwrap();
        let lines: Vec<_> = moved.lines().map(str::trim).collect();
        for wanted in [
            ".shared .align 8 .b64 __revoff_stack[2];",
            "ld.shared.u64 \t%SPT, [__revoff_stack];",
            "add.u64 \t%SPL, %SPT, 63;",
            "and.b64 \t%SPL, %SPL, -64;",
            "add.u64 \t%SPN, %SPL, 48;",
            "cvta.global.u64 \t%SP, %SPL;",
            "st.global.v2.b32 \t[%SPL+8], {7, 8};",
            "atom.relaxed.sys.global.cas.b32 \t%r2, [%SPL], %r3, %r4;",
        ] {
            assert!(lines.contains(&wanted), "no {wanted} in\n{moved}");
        }
        // Before each return, with its condition.
        let returns: Vec<_> = lines.iter().filter(|line| line.ends_with("ret;")).collect();
        assert_eq!(returns, [&"@%p1 ret;", &"ret;"]);
        for (line, before) in lines.iter().skip(1).zip(&lines) {
            if let Some(guard) = line.strip_suffix("ret;") {
                let restore = format!("{guard}st.shared.u64 \t[__revoff_stack], %SPT;");
                assert_eq!(*before, restore);
            }
        }
        assert!(!moved.contains("__local_depot"), "{moved}");
    }

    #[test]
    fn a_frame_that_is_not_taken_is_not_given_back() {
        let unused = FUNCTION
            .replace("\tmov.b64 \t%SPL, __local_depot0;\n", "")
            .replace("\tcvta.local.u64 \t%SP, %SPL;\n", "");
        let moved = in_global_memory(&unused).unwrap();
        assert!(!moved.contains("st.shared"), "{moved}");
    }

    #[test]
    fn a_kernel_gets_the_stack_of_its_block() {
        let kernel = FUNCTION.replace(
            ".visible .func  (.param .b32 func_retval0) f(",
            ".visible .entry k(",
        );
        let moved = in_global_memory(&kernel).unwrap();
        let (prepared, frame) = (
            moved.find("[k_param_3]").unwrap(),
            moved.find("ld.shared.u64 \t%SPT").unwrap(),
        );
        assert!(prepared < frame, "{moved}");
    }

    #[test]
    fn an_unknown_use_of_local_memory_is_an_error() {
        let text = FUNCTION.replace("ld.local.b32 \t%r1", "prefetch.local.L1 \t%r1");
        let error = in_global_memory(&text).unwrap_err().to_string();
        assert!(error.contains("prefetch.local.L1"), "{error}");
    }
}
