//! Links device-rt's piece into an image instead of libgomp's function.

use std::collections::HashSet;

use shared_abi::gomp::{ADDITIONAL_ICVS, REV_OFFLOAD_VAR};
use shared_abi::image::RUNTIME;

use super::TARGET_EXT;
use super::cut::{NotCut, without_target_ext};
use crate::ptx::{Item, Malformed, items};

/// GCC's variables that the piece uses, and the state space of each.
const USED: [(&str, &str); 2] = [(ADDITIONAL_ICVS, ".global"), ("__nvptx_uni", ".shared")];

/// The outcome for an image that has device-rt's `GOMP_target_ext`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Swapped {
    /// It was linked in: the texts have changed, and there is one more.
    Now,
    /// It was linked when the image was built. The texts are unchanged.
    Before,
}

/// The reason why an image keeps its own `GOMP_target_ext`, if it has one. Its texts are unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotSwapped {
    /// There is no piece: not for this GPU, or not in this build.
    #[error("there is no device-rt to link in: none for this GPU, or not built")]
    NoPiece,
    /// No text defines the function: nothing in the image calls it.
    #[error("the image has no {TARGET_EXT}")]
    NoTargetExt,
    /// Several texts define it.
    #[error("the image has {TARGET_EXT} more than once")]
    Several,
    /// It is defined in this text, counted from 0, from which it cannot be removed.
    #[error("{TARGET_EXT} of text {0} cannot be cut out: {1}")]
    NotCut(usize, NotCut),
    /// A text other than libgomp's, counted from 0, uses the variable that was removed with the
    /// function.
    #[error("text {0} uses {REV_OFFLOAD_VAR}")]
    Used(usize),
    /// A text, counted from 0, cannot be read.
    #[error("text {0} cannot be read: {1}")]
    Malformed(usize, Malformed),
    /// The image has no variable of this name, which the piece needs. GCC before 13 has
    /// no control variables.
    #[error("the image has no {0} (GCC 13 and newer do)")]
    Missing(&'static str),
    /// The image defines this, and so does the piece.
    #[error("the image and device-rt both define {0}")]
    Clash(String),
}

/// Replaces the function of libgomp's in `texts`, which are all parts of an image, by `piece`, the
/// PTX of device-rt for GCC's images. Without a piece, only determines whether they need one.
///
/// # Errors
/// The image is not of a form for which the replacement is known to be correct.
pub fn swap(texts: &mut Vec<String>, piece: Option<&str>) -> Result<Swapped, NotSwapped> {
    let parsed = texts
        .iter()
        .enumerate()
        .map(|(i, text)| items(text.as_bytes()).map_err(|why| NotSwapped::Malformed(i, why)))
        .collect::<Result<Vec<_>, _>>()?;
    let definitions = || parsed.iter().flatten().filter(|item| is_global(item));
    if definitions().any(|item| item.name() == Some(RUNTIME)) {
        return Ok(Swapped::Before);
    }
    let piece = piece.ok_or(NotSwapped::NoPiece)?;

    let defines = |items: &[Item<'_>]| {
        let mut items = items.iter();
        items.any(|item| item.name() == Some(TARGET_EXT) && item.is_definition())
    };
    let mut with_it = (0..texts.len()).filter(|i| defines(&parsed[*i]));
    let at = with_it.next().ok_or(NotSwapped::NoTargetExt)?;
    if with_it.next().is_some() {
        return Err(NotSwapped::Several);
    }
    let cut = without_target_ext(&texts[at]).map_err(|why| NotSwapped::NotCut(at, why))?;
    // A mention in a comment or a string is rejected too; GCC writes none.
    let mut others = (0..texts.len()).filter(|i| *i != at);
    if let Some(other) = others.find(|i| texts[*i].contains(REV_OFFLOAD_VAR)) {
        return Err(NotSwapped::Used(other));
    }
    for (name, space) in USED {
        let is_it = |item: &Item<'_>| item.name() == Some(name) && item.kind() == Some(space);
        if !definitions().any(is_it) {
            return Err(NotSwapped::Missing(name));
        }
    }
    let gone = [TARGET_EXT, REV_OFFLOAD_VAR];
    let theirs: HashSet<_> = definitions()
        .filter_map(Item::name)
        .filter(|name| !gone.contains(name))
        .collect();
    let ours = items(piece.as_bytes()).map_err(|why| NotSwapped::Malformed(texts.len(), why))?;
    let mut ours = ours.iter().filter(|item| is_global(item));
    if let Some(name) = ours.find_map(|item| item.name().filter(|name| theirs.contains(name))) {
        return Err(NotSwapped::Clash(name.to_owned()));
    }

    texts[at] = cut;
    texts.push(piece.to_owned());
    Ok(Swapped::Now)
}

/// Whether other texts see the definition `item`.
fn is_global(item: &Item<'_>) -> bool {
    item.linkage().is_some() && item.is_definition()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: &str = "(.param .u32 a, .param .u64 b, .param .u64 c, .param .u64 d, \
        .param .u64 e, .param .u64 f, .param .u32 g, .param .u64 h, .param .u64 i)";

    fn piece() -> String {
        format!(
            ".version 6.3\n.target sm_35\n\
             .extern .global .align 8 .b8 __gomp_additional_icvs[16];\n\
             .visible .global .align 8 .b8 __gomp_rev_offload_var[8];\n\
             .visible .global .align 8 .b8 __revoff_runtime[48];\n\
             .visible .func revoff_team() {{ ret; }}\n\
             .func inner() {{ ret; }}\n\
             .visible .func GOMP_target_ext{PARAMS} {{ ret; }}\n"
        )
    }

    /// A program, libgomp's text with the function, and one with other functions.
    fn image() -> Vec<String> {
        vec![
            format!(
                ".version 6.0\n.extern .func GOMP_target_ext{PARAMS};\n.func inner() {{ ret; }}\n\
                 .visible .entry kernel() {{ call GOMP_target_ext,(a,b,c,d,e,f,g,h,i); }}\n"
            ),
            format!(
                ".version 6.0\n.visible .global .align 8 .u64 __gomp_rev_offload_var[1];\n\
                 .visible .func teams {{ ret; }}\n\
                 .visible .func GOMP_target_ext{PARAMS} {{ ld.u64 r,[__gomp_rev_offload_var]; }}\n"
            ),
            ".version 6.0\n.visible .global .align 4 .u64 __gomp_additional_icvs[2];\n\
             .visible .shared .align 4 .u32 __nvptx_uni[32];\n"
                .to_owned(),
        ]
    }

    #[test]
    fn the_piece_takes_the_place() {
        let mut texts = image();
        assert_eq!(swap(&mut texts, Some(&piece())), Ok(Swapped::Now));
        assert_eq!(texts.len(), 4);
        assert_eq!((&texts[0], &texts[2]), (&image()[0], &image()[2]));
        assert_eq!(texts[1], without_target_ext(&image()[1]).expect("cut"));
        assert_eq!(texts[3], piece());

        let swapped = texts.clone();
        assert_eq!(swap(&mut texts, Some(&piece())), Ok(Swapped::Before));
        assert_eq!(texts, swapped);
        assert_eq!(swap(&mut texts, None), Ok(Swapped::Before));
        assert_eq!(swap(&mut image(), None), Err(NotSwapped::NoPiece));
    }

    #[test]
    fn what_is_not_right_stays() {
        type Change<'a> = &'a dyn Fn(&mut Vec<String>);
        let cases: [(Change<'_>, &str); 9] = [
            (&|texts| drop(texts.remove(1)), "has no GOMP_target_ext"),
            (&|texts| texts.push(texts[1].clone()), "more than once"),
            (&|texts| texts[1] += "}", "text 1 cannot be read: line 5"),
            (
                &|texts| texts[1] = texts[1].replace(".param .u32 a, ", ""),
                "text 1 cannot be cut out: line 4: not as",
            ),
            (
                &|texts| texts[0] += ".extern .global .u64 __gomp_rev_offload_var;",
                "text 0 uses __gomp_rev_offload_var",
            ),
            (&|texts| drop(texts.pop()), "no __gomp_additional_icvs"),
            (
                &|texts| texts[2] = texts[2].replace(".visible .shared", ".extern .shared"),
                "no __nvptx_uni",
            ),
            (
                &|texts| texts[0] += ".visible .func revoff_team { ret; }",
                "both define revoff_team",
            ),
            (
                &|texts| texts[0] += ".weak .global .u32 __gomp_rev_offload_var2;",
                "text 0 uses",
            ),
        ];
        for (change, why) in cases {
            let mut texts = image();
            change(&mut texts);
            let before = texts.clone();
            let error = swap(&mut texts, Some(&piece())).expect_err(why);
            assert!(error.to_string().contains(why), "{why}: {error}");
            assert_eq!(texts, before);
        }
    }
}
