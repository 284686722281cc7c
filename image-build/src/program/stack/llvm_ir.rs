//! The stacks of AMD GPUs.
//!
//! This changes the text of a whole program, after LLVM has optimised it. Each variable that is left on
//! a stack is an `alloca` there, and every pointer to the memory of one thread (`addrspace(5)`) comes
//! from one. They become pointers to global memory (`addrspace(1)`) in a frame, which the function takes
//! from the thread's stack when it begins. LLVM then compiles the result. Registers that it saves stay
//! in the thread's own memory: nobody has their address.

use std::borrow::Cow;
use std::collections::HashSet;

use std_calls::kernel::{STACK_ALIGN, STACK_BYTES_PARAMETER, STACK_RESERVE, STACKS_PARAMETER};
use targets::arch::Arch;

use super::hoisting::PhiValues;
use super::layout;
use super::{OVERFLOW, StackError, is_label};

/// Pointers to the memory of one thread, and what they become.
const PRIVATE: &str = "addrspace(5)";
const GLOBAL: &str = "addrspace(1)";

/// The words in shared memory: top and end. They have no initial value there.
const DECLARATION: &str =
    "@__revoff_stack = internal addrspace(3) global [2 x i64] poison, align 16\n";

/// The address of the second word.
const END: &str =
    "ptr addrspace(3) getelementptr inbounds (i8, ptr addrspace(3) @__revoff_stack, i32 8)";

/// The function that tells a thread its team, as LLVM declares it.
const TEAM: &str = "@llvm.amdgcn.workgroup.id.x";

/// Values of a launch that functions pass on to others, unless they have an attribute `amdgpu-no-` for one; and the
/// names of LLVM's functions for them.
const LAUNCH: &[(&str, &str)] = &[
    ("dispatch-ptr", "@llvm.amdgcn.dispatch.ptr"),
    ("dispatch-id", "@llvm.amdgcn.dispatch.id"),
    ("queue-ptr", "@llvm.amdgcn.queue.ptr"),
    ("implicitarg-ptr", "@llvm.amdgcn.implicitarg.ptr"),
    ("lds-kernel-id", "@llvm.amdgcn.lds.kernel.id"),
];

/// The same, where it is always 0: teams have one dimension and one thread.
const ZERO: &[(&str, &str)] = &[
    ("workgroup-id-y", "@llvm.amdgcn.workgroup.id.y()"),
    ("workgroup-id-z", "@llvm.amdgcn.workgroup.id.z()"),
    ("workitem-id-x", "@llvm.amdgcn.workitem.id.x()"),
    ("workitem-id-y", "@llvm.amdgcn.workitem.id.y()"),
    ("workitem-id-z", "@llvm.amdgcn.workitem.id.z()"),
];

/// The call of LLVM's trap, as LLVM writes it.
const TRAP: &str = "call void @llvm.trap()";

/// The same trap in a function of one block, for architectures without `traps_in_place`.
const CALL_OF_TRAP: &str = "call void @revoff.trap()";

/// `program`, with all stacks in global memory, for the architecture `arch`.
pub(crate) fn in_global_memory(program: &str, arch: &Arch) -> Result<String, StackError> {
    let mut moved = String::with_capacity(program.len() + program.len() / 8);
    let mut declared = HashSet::new();
    let mut is_first = true;
    let mut lines = program.lines();
    while let Some(line) = lines.next() {
        if let Some(head) = line.strip_prefix("define ") {
            if is_first {
                moved.push_str(DECLARATION);
                is_first = false;
            }
            let body: Vec<_> = lines.by_ref().take_while(|line| *line != "}").collect();
            let traps_in_place = arch.traps_in_place;
            let function = Function {
                head,
                body,
                traps_in_place,
            };
            function.write(&mut moved)?;
        } else if line.starts_with("declare ") {
            let line = global(line);
            // Two functions may become one.
            if declared.insert(name(&line).to_owned()) {
                moved.push_str(&line);
                moved.push('\n');
            }
        } else if line.starts_with("attributes ") {
            moved.push_str(&attributes(line, &declared));
            moved.push('\n');
        } else {
            moved.push_str(line);
            moved.push('\n');
        }
    }
    if !declared.contains(TEAM) {
        moved.push_str(&format!("declare i32 {TEAM}()\n"));
    }
    if moved.contains(CALL_OF_TRAP) {
        moved.push_str(&trap());
    }
    Ok(moved)
}

/// A function.
struct Function<'a> {
    /// Its first line, after `define`.
    head: &'a str,
    body: Vec<&'a str>,
    /// Whether a trap may stand anywhere in it.
    traps_in_place: bool,
}

impl Function<'_> {
    /// Whether an instruction makes a pointer a number, from which another one's is subtracted, or the other way round. The
    /// lower halves of two pointers to global memory have the same difference, if it wraps.
    fn is_for_a_difference(&self, line: &str) -> bool {
        let Some(number) = number_of_pointer(line) else {
            return false;
        };
        let is_number = |value: &str| {
            let defined = self.body.iter().copied().filter_map(number_of_pointer);
            defined.into_iter().any(|of| of == value)
        };
        let mut users = self
            .body
            .iter()
            .filter(|user| **user != line && uses(user, number));
        users.all(|user| {
            let operands = user
                .split_once(" = sub i32 ")
                .and_then(|(_, both)| both.split_once(", "));
            operands.is_some_and(|(one, other)| is_number(one) && is_number(other))
        })
    }

    fn write(&self, to: &mut String) -> Result<(), StackError> {
        let frame = Frame::of(&self.body)?;
        let linkage = self.head.split('@').next().unwrap_or_default();
        let is_kernel = linkage.contains("amdgpu_kernel ");
        let head = global(self.head);
        to.push_str("define ");
        // Of the kernel's parameter with the stacks, which is used now.
        to.push_str(&match is_kernel {
            true => head.replace(" readnone", "").into(),
            false => head,
        });
        to.push('\n');
        if is_kernel || frame.size > 0 {
            // Names but no numbers: values and blocks without a name are numbered in their order.
            to.push_str("revoff.entry:\n");
            if is_kernel {
                to.push_str(&prepare(self.head)?);
            }
            // The report itself has room: the end of the stack is no limit any more.
            let is_limited = frame.size > 0 && !self.head.contains(&format!("@{OVERFLOW}("));
            if frame.size > 0 {
                to.push_str(&frame.enter(is_limited));
            }
            to.push_str(&format!("  br label %{}\n", self.first_block()?));
            if is_limited {
                to.push_str(&format!(
                    "\nrevoff.overflow:\n  store i64 -1, {END}, align 8\n  \
                     call void @{OVERFLOW}()\n  unreachable\n\n"
                ));
            }
        }
        let values = PhiValues::of(&self.body);
        let mut offsets = frame.offsets.iter();
        for line in &self.body {
            if let Some((variable, _)) = line.split_once(" = alloca ") {
                let offset = offsets.next().unwrap_or(&0);
                to.push_str(&format!(
                    "{variable} = getelementptr inbounds nuw i8, ptr {GLOBAL} %revoff.frame, i64 {offset}\n"
                ));
                continue;
            }
            // These describe an `alloca` only.
            if line.contains("@llvm.lifetime.") {
                continue;
            }
            if let Some((variable, call)) = line.split_once(" = ")
                && ZERO.iter().any(|(_, name)| call.contains(name))
            {
                to.push_str(&format!("{variable} = add i32 0, 0\n"));
                continue;
            }
            if depends_on_width(line) && !self.is_for_a_difference(line) {
                return Err(StackError((*line).to_owned()));
            }
            if frame.size > 0 && line.trim_start().starts_with("ret ") {
                to.push_str(
                    "  store i64 %revoff.top, ptr addrspace(3) @__revoff_stack, align 16\n",
                );
            }
            let line = values.with_cost(line);
            match self.traps_in_place {
                true => to.push_str(&global(&line)),
                false => to.push_str(&global(&line).replace(TRAP, CALL_OF_TRAP)),
            }
            to.push('\n');
        }
        to.push_str("}\n");
        Ok(())
    }

    /// The label of the block with which it begins. LLVM numbers a block without one like a value: the
    /// parameters without names come before it.
    fn first_block(&self) -> Result<String, StackError> {
        let first = self.body.first().filter(|line| is_label(line));
        if let Some((label, _)) = first.and_then(|line| line.split_once(':')) {
            return Ok(label.to_owned());
        }
        let unnamed = parameters(self.head)?
            .iter()
            .filter(|name| name[1..].bytes().all(|byte| byte.is_ascii_digit()))
            .count();
        Ok(unnamed.to_string())
    }
}

/// The variables of a function in its frame.
#[derive(Default)]
struct Frame {
    /// Where each begins, in the order of the text.
    offsets: Vec<u64>,
    size: u64,
    align: u64,
}

impl Frame {
    fn of(body: &[&str]) -> Result<Self, StackError> {
        let mut frame = Self {
            align: STACK_ALIGN,
            ..Self::default()
        };
        let mut is_first_block = true;
        for (number, line) in body.iter().enumerate() {
            is_first_block &= number == 0 || !is_label(line);
            if !line.contains(" = alloca ") {
                if line.contains("musttail ") {
                    return Err(StackError((*line).to_owned()));
                }
                continue;
            }
            let (size, align) = variable(line)
                // One that a loop repeats, or whose size varies, has no place in a frame.
                .filter(|_| is_first_block)
                .ok_or_else(|| StackError((*line).to_owned()))?;
            let offset = frame.size.next_multiple_of(align);
            frame.offsets.push(offset);
            // One without bytes has an address all the same.
            frame.size = offset + size.max(1);
            frame.align = frame.align.max(align);
        }
        frame.size = frame.size.next_multiple_of(STACK_ALIGN);
        Ok(frame)
    }

    /// Takes the frame from the stack. If there is no room, the report of that runs behind the frames
    /// that fit, within the bytes that are left for it.
    fn enter(&self, is_limited: bool) -> String {
        let mut code =
            "  %revoff.top = load i64, ptr addrspace(3) @__revoff_stack, align 16\n".to_owned();
        let begin = if self.align > STACK_ALIGN {
            code.push_str(&format!(
                "  %revoff.up = add i64 %revoff.top, {}\n  %revoff.begin = and i64 %revoff.up, -{}\n",
                self.align - 1,
                self.align
            ));
            "%revoff.begin"
        } else {
            "%revoff.top"
        };
        code.push_str(&format!(
            "  %revoff.next = add i64 {begin}, {}\n",
            self.size
        ));
        if is_limited {
            code.push_str(&format!(
                "  %revoff.end = load i64, {END}, align 8\n  \
                 %revoff.full = icmp ugt i64 %revoff.next, %revoff.end\n  \
                 br i1 %revoff.full, label %revoff.overflow, label %revoff.enter\n\nrevoff.enter:\n"
            ));
        }
        code.push_str(&format!(
            "  store i64 %revoff.next, ptr addrspace(3) @__revoff_stack, align 16\n  \
             %revoff.frame = inttoptr i64 {begin} to ptr {GLOBAL}\n"
        ));
        code
    }
}

/// The value and its name of `%x = ptrtoint ptr addrspace(5) %p to i32`.
fn number_of_pointer(line: &str) -> Option<&str> {
    let (value, code) = line.trim_start().split_once(" = ")?;
    let is_number =
        code.starts_with(&format!("ptrtoint ptr {PRIVATE} %")) && code.ends_with(" to i32");
    is_number.then_some(value)
}

/// Whether an instruction uses a value.
fn uses(line: &str, value: &str) -> bool {
    let is_of_name = |next: char| next.is_alphanumeric() || "-$._".contains(next);
    let mut found = line.match_indices(value);
    found.any(|(at, _)| !line[at + value.len()..].starts_with(is_of_name))
}

/// Whether an instruction depends on the width of a pointer to a thread's own memory, which is 32 bits where
/// one to global memory has 64: it makes it a number, or keeps it in memory.
fn depends_on_width(line: &str) -> bool {
    line.contains(" = inttoptr ") && line.contains(PRIVATE)
        || ["ptrtoint", "load", "store"]
            .iter()
            .any(|name| line.contains(&format!("{name} ptr {PRIVATE}")))
}

/// The size and the alignment of `%x = alloca [24 x i8], align 8, addrspace(5)`.
fn variable(line: &str) -> Option<(u64, u64)> {
    let (_, text) = line.split_once(" = alloca ")?;
    let (text, _) = text.split_once(", addrspace(5)")?;
    let (kind, align) = text.rsplit_once(", align ")?;
    Some((layout::size(kind)?, align.parse().ok()?))
}

/// The function that [`CALL_OF_TRAP`] calls. It takes nothing of the launch.
fn trap() -> String {
    let unused: String = LAUNCH
        .iter()
        .chain(ZERO)
        .map(|(name, _)| format!(" \"amdgpu-no-{name}\""))
        .collect();
    format!(
        "define internal void @revoff.trap() noinline norecurse noreturn nounwind \
         \"amdgpu-no-workgroup-id-x\"{unused} {{\n  {TRAP}\n  unreachable\n}}\n"
    )
}

/// The beginning of a kernel: the calling thread's stack.
fn prepare(head: &str) -> Result<String, StackError> {
    let parameters = parameters(head)?;
    let parameter = |number: usize| {
        parameters
            .get(number)
            .ok_or_else(|| StackError(head.to_owned()))
    };
    let (stacks, bytes) = (
        parameter(STACKS_PARAMETER)?,
        parameter(STACK_BYTES_PARAMETER)?,
    );
    Ok(format!(
        "  %revoff.stacks = ptrtoint ptr {stacks} to i64\n  \
         %revoff.team = call i32 {TEAM}()\n  \
         %revoff.team64 = zext i32 %revoff.team to i64\n  \
         %revoff.offset = mul i64 %revoff.team64, {bytes}\n  \
         %revoff.bottom = add i64 %revoff.stacks, %revoff.offset\n  \
         store i64 %revoff.bottom, ptr addrspace(3) @__revoff_stack, align 16\n  \
         %revoff.behind = add i64 %revoff.bottom, {bytes}\n  \
         %revoff.last = sub i64 %revoff.behind, {STACK_RESERVE}\n  \
         store i64 %revoff.last, {END}, align 8\n"
    ))
}

/// The names of a function's parameters, such as `%0`.
fn parameters(head: &str) -> Result<Vec<&str>, StackError> {
    let error = || StackError(head.to_owned());
    let at = head.find('@').ok_or_else(error)?;
    // A name in quotes may have parentheses.
    let quoted = match head[at + 1..].strip_prefix('"') {
        Some(rest) => rest.find('"').ok_or_else(error)? + 2,
        None => 0,
    };
    let list = at + 1 + quoted;
    let begin = list + head[list..].find('(').ok_or_else(error)? + 1;
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, begin);
    for (place, byte) in head.bytes().enumerate().skip(begin) {
        match byte {
            b'(' | b'[' | b'{' | b'<' => depth += 1,
            b',' | b')' if depth == 0 => {
                let word = head[start..place].split_whitespace().last();
                names.extend(word.filter(|word| word.starts_with('%')));
                start = place + 1;
                if byte == b')' {
                    return Ok(names);
                }
            }
            b')' | b']' | b'}' | b'>' => depth -= 1,
            _ => {}
        }
    }
    Err(error())
}

/// The name of the function that a line declares.
fn name(line: &str) -> &str {
    let name = line.find('@').map_or("", |at| &line[at..]);
    name.split('(').next().unwrap_or_default()
}

/// Attributes that say in which range a small argument or result is.
///
/// LLVM 22 takes the range of a function's result for that of the whole register that returns it, but a
/// function leaves the bits beyond the result's own as they are. Without the range the caller masks them.
const SMALL_RANGES: [&str; 3] = [" range(i1 ", " range(i8 ", " range(i16 "];

/// A line of code, with global memory instead of a thread's own: its types, and the names that LLVM's
/// intrinsics derive from them. It has no [`SMALL_RANGES`], and no atomic "or" of nothing.
fn global(line: &str) -> Cow<'_, str> {
    let line = adding_nothing(without_small_ranges(line));
    if !line.contains(PRIVATE) {
        return line;
    }
    let mut text = line.replace(PRIVATE, GLOBAL);
    if let Some(at) = text.find("@llvm.") {
        let end = text[at..].find('(').map_or(text.len(), |end| at + end);
        let intrinsic = text[at..end].replace(".p5", ".p1");
        text.replace_range(at..end, &intrinsic);
    }
    text.into()
}

fn without_small_ranges(line: &str) -> Cow<'_, str> {
    let mut line = Cow::Borrowed(line);
    for range in SMALL_RANGES {
        while let Some(start) = line.find(range) {
            let end = line[start..]
                .find(')')
                .map_or(line.len(), |end| start + end + 1);
            line.to_mut().replace_range(start..end, "");
        }
    }
    line
}

/// A line of code with an atomic addition of 0 instead of an "or" or "xor" of 0, which do the same.
///
/// LLVM 22 turns these into the addition itself, but only after it has expanded operations of 8 and 16 bits, for
/// which there are no instructions. `AtomicBool::fetch_or(false)` is one.
fn adding_nothing(line: Cow<'_, str>) -> Cow<'_, str> {
    if line.contains("= atomicrmw ")
        && [", i8 0 ", ", i16 0 "]
            .iter()
            .any(|zero| line.contains(zero))
    {
        for operation in [" or ptr", " xor ptr"] {
            if line.contains(operation) {
                return line.replacen(operation, " add ptr", 1).into();
            }
        }
    }
    line
}

/// The attributes of functions that still hold. Those that enter a frame access memory that no parameter
/// points to, and may report an overflow: that calls the host, and takes what the kernel was launched
/// with. This is all of the program, so nothing takes what no function has `declared`: passing it on would
/// occupy scalar registers in all functions.
fn attributes(line: &str, declared: &HashSet<String>) -> String {
    // Others belong to LLVM's own functions.
    if !line.contains("\"target-cpu\"") {
        return line.to_owned();
    }
    let mut text = line.replace(" norecurse", "");
    if let Some(at) = text.find(" memory(") {
        let end = text[at..].find(')').map_or(at, |end| at + end + 1);
        text.replace_range(at..end, "");
    }
    let words = text.trim_end_matches(" }").split(' ');
    let mut words: Vec<_> = words
        .filter(|word| !word.starts_with("\"amdgpu-no-"))
        .map(str::to_owned)
        .collect();
    let unused = LAUNCH.iter().filter(|(_, name)| !declared.contains(*name));
    words.extend(
        unused
            .chain(ZERO)
            .map(|(name, _)| format!("\"amdgpu-no-{name}\"")),
    );
    words.join(" ") + " }"
}

#[cfg(test)]
mod tests {
    use targets::arch;

    use super::{StackError, in_global_memory};

    fn moved(program: &str, arch: &str) -> Result<String, StackError> {
        in_global_memory(program, arch::find(arch).expect("it is known"))
    }

    const PROGRAM: &str = "\
target triple = \"amdgcn-amd-amdhsa\"
@text = internal constant [12 x i8] c\"addrspace(5)\"

define amdgpu_kernel void @main(ptr %0, i64 %1, ptr %2, ptr noundef readnone captures(none) %3, i64 %4) #0 {
  %6 = call i32 @f(ptr addrspace(1) null)
  ret void
}

define internal i32 @f(ptr addrspace(1) noundef %0) #0 {
  %2 = alloca [24 x i8], align 8, addrspace(5)
  %3 = alloca i32, align 64, addrspace(5)
  call void @llvm.lifetime.start.p5(ptr addrspace(5) %2)
  %y = tail call noundef i32 @llvm.amdgcn.workgroup.id.y() #2
  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) %2, ptr addrspace(1) %0, i64 24, i1 false)
  br i1 false, label %4, label %5

4:                                                ; preds = %1
  ret i32 1

5:                                                ; preds = %1
  %6 = load i32, ptr addrspace(5) %3, align 4
  ret i32 %6
}

declare void @llvm.lifetime.start.p5(ptr addrspace(5) captures(none)) #1
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr() #1
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1 immarg) #1
declare void @llvm.memcpy.p5.p1.i64(ptr addrspace(5), ptr addrspace(1), i64, i1 immarg) #1
attributes #0 = { norecurse nounwind memory(argmem: read) \"amdgpu-no-dispatch-ptr\" \"target-cpu\"=\"gfx90a\" }
attributes #1 = { memory(argmem: readwrite) }
";

    #[test]
    fn variables_get_a_frame() {
        let moved = moved(PROGRAM, "gfx90a").unwrap();
        for wanted in [
            "c\"addrspace(5)\"",
            "ptr noundef captures(none) %3, i64 %4) #0 {\nrevoff.entry:\n  %revoff.stacks = ptrtoint ptr %3 to i64",
            "mul i64 %revoff.team64, %4\n",
            "  br label %5\n  %6 = call i32 @f(",
            "%revoff.up = add i64 %revoff.top, 63\n  %revoff.begin = and i64 %revoff.up, -64\n",
            // 24 bytes, the 64th on, and 4 more.
            "%revoff.next = add i64 %revoff.begin, 80\n",
            "  br label %1\n\nrevoff.overflow:\n",
            "\n  %2 = getelementptr inbounds nuw i8, ptr addrspace(1) %revoff.frame, i64 0\n",
            "\n  %3 = getelementptr inbounds nuw i8, ptr addrspace(1) %revoff.frame, i64 64\n",
            "call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %2, ptr addrspace(1) %0,",
            "= load i32, ptr addrspace(1) %3",
            "  %y = add i32 0, 0\n",
            "attributes #0 = { nounwind \"target-cpu\"=\"gfx90a\" \"amdgpu-no-dispatch-id\" ",
            "attributes #1 = { memory(argmem: readwrite) }",
        ] {
            assert!(moved.contains(wanted), "{wanted}\nis not in:\n{moved}");
        }
        // Of the function alone, which has two ends.
        assert_eq!(moved.matches("store i64 %revoff.top,").count(), 2);
        assert_eq!(
            moved.matches("declare void @llvm.memcpy.p1.p1.i64").count(),
            1
        );
        assert!(!moved.contains("call void @llvm.lifetime."));
        assert_eq!(moved.matches("addrspace(5)").count(), 1);
    }

    #[test]
    fn traps_have_a_function_where_llvm_needs_one() {
        let traps = PROGRAM.replacen(
            "  ret void",
            "  tail call void @llvm.trap(), !noalias !1\n  unreachable",
            1,
        );
        let in_place = moved(&traps, "gfx90a").unwrap();
        assert!(in_place.contains("tail call void @llvm.trap(), !noalias !1\n"));
        assert!(!in_place.contains("@revoff.trap"));
        let apart = moved(&traps, "gfx1100").unwrap();
        assert!(apart.contains("tail call void @revoff.trap(), !noalias !1\n"));
        assert_eq!(
            apart.matches("call void @llvm.trap()").count(),
            1,
            "{apart}"
        );
        assert_eq!(
            apart.matches("define internal void @revoff.trap()").count(),
            1
        );
        assert!(!moved(PROGRAM, "gfx1100").unwrap().contains("@revoff.trap"));
    }

    #[test]
    fn small_results_have_no_range() {
        let small = PROGRAM
            .replace(
                "call i32 @f(",
                "call noundef range(i8 0, 4) i32 @f(i64 range(i64 1, 0) 1, ",
            )
            .replace(
                "internal i32 @f(",
                "internal noundef range(i8 0, 4) i32 @f(i16 range(i16 -1, 9) %s, ",
            );
        let moved = moved(&small, "gfx90a").unwrap();
        assert!(moved.contains("call noundef i32 @f(i64 range(i64 1, 0) 1, "));
        assert!(moved.contains("internal noundef i32 @f(i16 %s, "));
        assert!(!moved.contains("range(i8") && !moved.contains("range(i16"));
    }

    #[test]
    fn an_atomic_or_of_nothing_is_an_addition() {
        for (line, expected) in [
            (
                "%1 = atomicrmw or ptr %0, i8 0 seq_cst, align 1",
                "%1 = atomicrmw add ptr %0, i8 0 seq_cst, align 1",
            ),
            (
                "%1 = atomicrmw xor ptr addrspace(5) %0, i16 0 monotonic, align 2",
                "%1 = atomicrmw add ptr addrspace(1) %0, i16 0 monotonic, align 2",
            ),
            (
                "%1 = atomicrmw or ptr %0, i8 1 seq_cst",
                "%1 = atomicrmw or ptr %0, i8 1 seq_cst",
            ),
            (
                "%1 = atomicrmw or ptr %0, i32 0 seq_cst",
                "%1 = atomicrmw or ptr %0, i32 0 seq_cst",
            ),
            (
                "%1 = atomicrmw and ptr %0, i8 0 seq_cst",
                "%1 = atomicrmw and ptr %0, i8 0 seq_cst",
            ),
        ] {
            assert_eq!(super::global(line), expected);
        }
    }

    #[test]
    fn differences_of_pointers_stay() {
        let load = "%6 = load i32, ptr addrspace(5) %3, align 4";
        let with = |code: &str| moved(&PROGRAM.replacen(load, code, 1), "gfx90a");
        let numbers = "%x = ptrtoint ptr addrspace(5) %3 to i32\n  \
                       %x.1 = ptrtoint ptr addrspace(5) %3 to i32\n  ";
        let text = with(&format!("{numbers}%6 = sub i32 %x, %x.1")).unwrap();
        assert!(
            text.contains("%x.1 = ptrtoint ptr addrspace(1) %3 to i32"),
            "{text}"
        );
        for use_of in ["sub i32 0, %x", "sub nuw i32 %x, %x.1", "add i32 %x, %x.1"] {
            let error = with(&format!("{numbers}%6 = {use_of}")).unwrap_err();
            assert!(error.to_string().contains("ptrtoint"), "{error}");
        }
    }

    #[test]
    fn what_is_unknown_is_an_error() {
        let unknown = [
            ("alloca i32, align 64", "alloca i32, i32 %n, align 64"),
            ("alloca i32, align 64", "alloca %T, align 64"),
            ("%6 = load i32, ptr addrspace(5) %3", "%6 = alloca i32"),
            (
                "load i32, ptr addrspace(5) %3",
                "load ptr addrspace(5), ptr addrspace(5) %3",
            ),
            (
                "load i32, ptr addrspace(5) %3, align 4",
                "ptrtoint ptr addrspace(5) %3 to i32",
            ),
            (
                "load i32, ptr addrspace(5) %3, align 4",
                "inttoptr i32 0 to ptr addrspace(5)",
            ),
            (
                "call void @llvm.memcpy.p5",
                "musttail call void @llvm.memcpy.p5",
            ),
        ];
        for (old, new) in unknown {
            let error = moved(&PROGRAM.replacen(old, new, 1), "gfx90a").unwrap_err();
            let words = new.rsplit("= ").next().unwrap_or(new);
            assert!(error.to_string().contains(words), "{error}");
        }
    }
}
