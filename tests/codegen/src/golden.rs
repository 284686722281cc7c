//! Instructions in golden files: details that vary between builds are replaced by names in the
//! order of appearance.

use std::collections::HashMap;

use targets::arch::Target;

use crate::listing::{Function, Instruction, LineContent};

/// The instructions and labels of `function`, one to a line.
#[must_use]
pub fn normalised(target: Target, function: &Function) -> Vec<String> {
    let labels = function
        .lines
        .iter()
        .filter_map(|line| match &line.content {
            LineContent::Label(label) => Some(label.as_str()),
            LineContent::Instruction(_) => None,
        });
    let mut names = Names {
        target,
        labels: labels.collect(),
        own_parameters: format!("{}_param_", function.name),
        known: HashMap::new(),
    };
    let mut lines = vec![];
    for line in &function.lines {
        lines.push(match &line.content {
            LineContent::Label(label) => format!("{}:", names.of_word(label)),
            LineContent::Instruction(instruction) => {
                let Instruction {
                    guard,
                    op,
                    operands,
                } = instruction;
                let renamed = Instruction {
                    guard: names.rename(guard),
                    op: op.clone(),
                    operands: names.rename(operands),
                };
                format!("    {renamed}")
            }
        });
    }
    lines
}

/// `text` without the hashes in Rust's symbols, which vary between builds.
#[must_use]
pub fn without_hashes(text: &str) -> String {
    let mut rest = text;
    let mut clean = String::new();
    while let Some(at) = rest.find("Cs") {
        let (head, tail) = rest.split_at(at);
        clean.push_str(head);
        let end = tail.find(|c: char| !c.is_ascii_alphanumeric());
        // A crate's hash ends with an underscore, and its name's length follows.
        match end.map(|end| tail.split_at(end)) {
            Some((_, after))
                if after.starts_with('_')
                    && after[1..].starts_with(|c: char| c.is_ascii_digit()) =>
            {
                clean.push('C');
                rest = &after[1..];
            }
            _ => {
                clean.push_str("Cs");
                rest = &tail[2..];
            }
        }
    }
    clean + rest
}

/// The new names in a function.
struct Names<'f> {
    target: Target,
    labels: Vec<&'f str>,
    own_parameters: String,
    /// By kind (a class of registers, or `L`) and old name.
    known: HashMap<(String, String), usize>,
}

impl Names<'_> {
    fn rename(&mut self, text: &str) -> String {
        let mut renamed = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            if !is_word(first) {
                renamed.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            let (word, tail) = rest.split_at(end);
            rest = tail;
            if let Some((indices, tail)) = self.registers(word, tail) {
                renamed += &self.of_registers(word, &indices);
                rest = tail;
            } else {
                renamed += &self.of_word(word);
            }
        }
        renamed
    }

    /// The registers of AMD's `v[4:7]`, if `class` and the following text have that form.
    fn registers<'t>(&self, class: &str, tail: &'t str) -> Option<(Vec<u32>, &'t str)> {
        if self.target != Target::Amdgcn || !["v", "s", "a"].contains(&class) {
            return None;
        }
        let (range, tail) = tail.strip_prefix('[')?.split_once(']')?;
        let (first, last) = range.split_once(':')?;
        let indices = first.parse().ok()?..=last.parse().ok()?;
        Some((indices.collect(), tail))
    }

    fn of_registers(&mut self, class: &str, indices: &[u32]) -> String {
        let indices: Vec<_> = indices
            .iter()
            .map(|index| self.number(class, &index.to_string()).to_string())
            .collect();
        format!("{class}[{}]", indices.join(","))
    }

    fn of_word(&mut self, word: &str) -> String {
        if self.labels.contains(&word) {
            return format!("L{}", self.number("L", word));
        }
        if let Some(index) = word.strip_prefix(&self.own_parameters) {
            return format!("param_{index}");
        }
        let digits = word.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (class, index) = word.split_at(digits);
        let is_register = match self.target {
            Target::Nvptx => ["%p", "%rs", "%r", "%rd", "%rq", "%f", "%fd"].contains(&class),
            Target::Amdgcn => ["v", "s", "a"].contains(&class),
        };
        if is_register && !index.is_empty() {
            return format!("{class}{}", self.number(class, index));
        }
        without_hashes(word)
    }

    fn number(&mut self, kind: &str, old: &str) -> usize {
        let next = self.known.keys().filter(|(known, _)| known == kind).count();
        *self
            .known
            .entry((kind.to_owned(), old.to_owned()))
            .or_insert(next)
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_.$%".contains(c)
}

#[cfg(test)]
mod tests {
    use super::{normalised, without_hashes};
    use crate::listing::functions;
    use targets::arch::Target;

    #[test]
    fn registers_labels_and_parameters_have_new_names() {
        let ptx = "\
.func probe()
{
\tld.param.b64 \t%rd7, [probe_param_0];
\tmov.u32 \t%r9, %laneid;
\t@!%p4 bra \t$L__BB0_2;
$L__BB0_2:
\tst.b32 \t[%rd7+4], %r9;
}
";
        let functions = functions(Target::Nvptx, ptx);
        assert_eq!(
            normalised(Target::Nvptx, &functions[0]),
            [
                "    ld.param.b64 %rd0, [param_0]",
                "    mov.u32 %r0, %laneid",
                "    @!%p0 bra L0",
                "L0:",
                "    st.b32 [%rd0+4], %r0",
            ]
        );
        let isa = "\
\t.type\tprobe,@function
probe:
\tflat_load_dwordx2 v[2:3], v[3:4] glc
\tv_add_u32_e32 v3, s9, v4
\t.size\tprobe, 4
";
        let functions = super::super::listing::functions(Target::Amdgcn, isa);
        assert_eq!(
            normalised(Target::Amdgcn, &functions[0]),
            [
                "    flat_load_dwordx2 v[0,1], v[1,2] glc",
                "    v_add_u32_e32 v1, s0, v2",
            ]
        );
    }

    #[test]
    fn hashes_of_symbols_go() {
        assert_eq!(
            without_hashes(
                "_RINvNtCsjfP5HiGyMAW_13revoff_device4wire7call_on6NativeECs2s5D_7CssCs_x"
            ),
            "_RINvNtC13revoff_device4wire7call_on6NativeEC7CssCs_x"
        );
    }
}
