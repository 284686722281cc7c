//! Instructions that exist on hardware and are missing here, for errors.

/// The purpose of an instruction that is known to be missing.
pub(super) fn family(name: &str) -> Option<&'static str> {
    Some(match name {
        "tex" | "tld4" | "txq" | "istypep" | "suld" | "sust" | "sured" | "suq" => {
            "textures and surfaces"
        }
        "tcgen05" => "products of matrices in tensor memory",
        "tensormap" => "maps of tensors",
        "multimem" => "accesses to the memory of several devices",
        "clusterlaunchcontrol" => "launches that take over other clusters",
        "stackrestore" | "stacksave" | "alloca" => "allocations on the stack",
        "vshl" | "vshr" | "vmad" | "vset" | "vadd2" | "vsub2" | "vavrg2" | "vabsdiff2"
        | "vmin2" | "vmax2" | "vset2" | "vadd4" | "vsub4" | "vavrg4" | "vabsdiff4" | "vmin4"
        | "vmax4" | "vset4" => "video instructions",
        _ => return None,
    })
}
