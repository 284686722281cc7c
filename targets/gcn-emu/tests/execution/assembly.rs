//! Kernels in assembly.

use gcn_emu::{Arch, Generation, Target, WaveSize};

use crate::device::compile;

/// How a kernel in assembly is built.
pub(crate) struct Assembly {
    pub(crate) target: Target,
    /// Lines of the kernel's descriptor.
    directives: Vec<String>,
}

impl Assembly {
    /// A kernel with 8 vector and 16 scalar registers, whose first two have the address of arguments.
    pub(crate) fn new(target: Target) -> Self {
        let mut directives = [
            "user_sgpr_kernarg_segment_ptr 1",
            "next_free_vgpr 8",
            "next_free_sgpr 16",
        ]
        .map(str::to_owned)
        .to_vec();
        if matches!(target.arch, Arch::Gfx90a | Arch::Gfx942) {
            directives.push("accum_offset 8".to_owned());
        }
        if target.arch.generation() != Generation::Gfx9 {
            let is_narrow = target.wave == WaveSize::Wave32;
            directives.push(format!("wavefront_size32 {}", u32::from(is_narrow)));
        }
        Self { target, directives }
    }

    /// Adds a line of the descriptor.
    pub(crate) fn with(mut self, directive: &str) -> Self {
        self.directives.push(directive.to_owned());
        self
    }

    /// The linked code object of a kernel `k`; none if there is no compiler.
    pub(crate) fn compile(&self, body: &str) -> Option<Vec<u8>> {
        let directives: String = self
            .directives
            .iter()
            .map(|directive| format!("  .amdhsa_{directive}\n"))
            .collect();
        let text = format!(
            ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n{body}\n\
             .rodata\n.p2align 6\n.amdhsa_kernel k\n{directives}.end_amdhsa_kernel\n"
        );
        let is_wide = self.target.wave == WaveSize::Wave64;
        let flags: &[&str] = match (self.target.arch.generation(), is_wide) {
            (Generation::Gfx11 | Generation::Gfx12, true) => &["-mwavefrontsize64"],
            _ => &[],
        };
        compile(self.target.arch, "s", &text, flags)
    }
}
