//! AMD's assembly in LLVM's form: a function extends from the label of a symbol that `.type`
//! declares as one to its size.

use std::collections::HashSet;

use super::{Function, Instruction, Line, LineContent};

pub(super) fn functions(assembly: &str) -> Vec<Function> {
    let mut functions = vec![];
    let mut symbols = HashSet::new();
    let mut body: Option<Function> = None;
    for (index, line) in assembly.lines().enumerate() {
        let number = index + 1;
        let code = line.split(';').next().unwrap_or_default().trim();
        let mut words = code.split_whitespace();
        match (words.next().unwrap_or_default(), words.next()) {
            (".type", Some(what)) => {
                if let Some(name) = what.strip_suffix(",@function") {
                    symbols.insert(name);
                }
            }
            (".size", _) => functions.extend(body.take()),
            // Two functions with the same code are one with two names.
            (".set", Some(alias)) => {
                let name = alias.trim_end_matches(',');
                if let Some(other) = words.next().filter(|other| symbols.contains(other))
                    && symbols.contains(name)
                {
                    functions.push(Function {
                        name: name.to_owned(),
                        same_as: Some(other.to_owned()),
                        ..Function::default()
                    });
                }
            }
            (label, None) if label.ends_with(':') => {
                let label = label.trim_end_matches(':');
                if symbols.contains(label) {
                    body = Some(Function {
                        name: label.to_owned(),
                        ..Function::default()
                    });
                } else if let Some(function) = &mut body
                    && !label.starts_with(".Lfunc_end")
                {
                    function.lines.push(Line {
                        number,
                        content: LineContent::Label(label.to_owned()),
                    });
                }
            }
            (first, _) if !first.is_empty() && !first.starts_with('.') => {
                if let Some(function) = &mut body {
                    function.lines.push(Line {
                        number,
                        content: LineContent::Instruction(Instruction::parse(code)),
                    });
                }
            }
            _ => {}
        }
    }
    functions
}

#[cfg(test)]
mod tests {
    use super::functions;
    use crate::listing::find;

    const ISA: &str = "\
\t.type\tprobe,@function
probe:                                  ; @probe
; %bb.0:
\ts_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
.LBB0_1:                                ; =>This Inner Loop
\tflat_store_dwordx2 v[0:1], v[2:3] sc0 sc1
\ts_cbranch_execnz .LBB0_1
.Lfunc_end0:
\t.size\tprobe, .Lfunc_end0-probe
\t.set probe.num_vgpr, 4
\t.type\tdata,@object
data:
\t.zero 8
\t.size\tdata, 8
\t.type\tother,@function
.set other, probe
";

    #[test]
    fn functions_are_taken_apart() {
        let functions = functions(ISA);
        let names: Vec<_> = functions.iter().map(|f| &*f.name).collect();
        assert_eq!(names, ["probe", "other"]);
        let said: Vec<_> = functions[0]
            .instructions()
            .map(|(number, instruction)| format!("{number} {instruction}"))
            .collect();
        assert_eq!(
            said,
            [
                "4 s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
                "6 flat_store_dwordx2 v[0:1], v[2:3] sc0 sc1",
                "7 s_cbranch_execnz .LBB0_1",
            ]
        );
        assert_eq!(functions[0].lines.len(), 4, "and a label");
        assert_eq!(find(&functions, "other"), Some(&functions[0]));
    }
}
