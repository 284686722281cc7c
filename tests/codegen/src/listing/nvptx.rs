//! PTX in LLVM's form: functions begin and end with a brace in the first column.

use super::{Function, Instruction, Line, LineContent};

pub(super) fn functions(assembly: &str) -> Vec<Function> {
    let mut functions = vec![];
    let mut header: Option<String> = None;
    let mut body: Option<Function> = None;
    let mut statement = String::new();
    for (index, line) in assembly.lines().enumerate() {
        let number = index + 1;
        let code = line.split("//").next().unwrap_or_default();
        let Some(function) = &mut body else {
            match (name(code), code.trim()) {
                (Some(name), _) => header = Some(name),
                // A declaration.
                (None, ";") => header = None,
                (None, "{") => {
                    body = header.take().map(|name| Function {
                        name,
                        ..Function::default()
                    });
                }
                _ => {}
            }
            continue;
        };
        if line == "}" {
            functions.extend(body.take());
            continue;
        }
        let mut code = code.trim();
        if statement.is_empty()
            && let Some((label, rest)) = label(code)
        {
            function.lines.push(Line {
                number,
                content: LineContent::Label(label.to_owned()),
            });
            code = rest;
        }
        // Braces of a scope, such as around a call.
        code = code.trim_matches(['{', '}', ' ', '\t']);
        while let Some((head, rest)) = code.split_once(';') {
            statement.push_str(head);
            if !statement.trim().starts_with('.') {
                function.lines.push(Line {
                    number,
                    content: LineContent::Instruction(Instruction::parse(&statement)),
                });
            }
            statement.clear();
            code = rest.trim();
        }
        statement.push_str(code);
    }
    functions
}

/// The function that a line begins to declare or define.
fn name(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().peekable();
    while words
        .next_if(|word| [".visible", ".weak", ".extern"].contains(word))
        .is_some()
    {}
    if !matches!(words.next()?, ".func" | ".entry") {
        return None;
    }
    let rest = words.collect::<Vec<_>>().join(" ");
    // The result stands in parentheses before the name.
    let rest = match rest.strip_prefix('(') {
        Some(result) => result.split_once(')')?.1.trim(),
        None => &rest,
    };
    let end = rest.find(['(', ' ']).unwrap_or(rest.len());
    (end > 0).then(|| rest[..end].to_owned())
}

/// A label at the start of a line, and what comes after it.
fn label(code: &str) -> Option<(&str, &str)> {
    let (label, rest) = code.split_once(':')?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "$_.".contains(c);
    (!label.is_empty() && label.chars().all(is_name)).then(|| (label, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::functions;

    const PTX: &str = "\
.version 6.3
.func _inner
(
\t.param .b64 _inner_param_0
)
;
.visible .global .align 8 .b8 __revoff_runtime[48];
.visible .func  (.param .b32 func_retval0) probe(
\t.param .b64 probe_param_0
)                                       // @probe
{
\t.reg .b32 \t%r<2>;

// %bb.0:
\tld.param.b64 \t%rd1, [probe_param_0];
\t// begin inline asm
\tmembar.sys;
ld.volatile.global.u32 %r1, [%rd2];
\t// end inline asm
\t@%p1 bra \t$L__BB0_2;
\t{ // callseq 0, 0
\t.param .b64 param0;
\tcall.uni (retval0), 
\t_inner, 
\t(
\tparam0
\t);
\t} // callseq 0
$L__BB0_2:
\ttrap; exit;

}
\t// .globl\tquiet
.visible .entry quiet()
{
\tret;
}
";

    #[test]
    fn functions_are_taken_apart() {
        let functions = functions(PTX);
        let names: Vec<_> = functions.iter().map(|f| &*f.name).collect();
        assert_eq!(names, ["probe", "quiet"]);
        let said: Vec<_> = functions[0]
            .instructions()
            .map(|(number, instruction)| format!("{number} {instruction}"))
            .collect();
        assert_eq!(
            said,
            [
                "15 ld.param.b64 %rd1, [probe_param_0]",
                "17 membar.sys",
                "18 ld.volatile.global.u32 %r1, [%rd2]",
                "20 @%p1 bra $L__BB0_2",
                "27 call.uni (retval0),_inner,(param0)",
                "30 trap",
                "30 exit",
            ]
        );
        assert_eq!(functions[0].lines.len(), 8, "and a label");
        assert_eq!(functions[1].instructions().count(), 1);
    }
}
