//! Takes `GOMP_target_ext` alone out of libgomp's text that defines it.

use super::{NotCut, TARGET_EXT};
use crate::ptx::{Tokens, items};

/// `text`, one of libgomp's, with `GOMP_target_ext` as its only function, and the variables that the
/// function uses. Instructions and variables are unchanged.
///
/// # Errors
/// The text cannot be read, or does not define the function exactly once.
pub fn target_ext_alone(text: &str) -> Result<String, NotCut> {
    let items = items(text.as_bytes())?;
    let mut definitions = items
        .iter()
        .filter(|item| item.is_definition() && item.name() == Some(TARGET_EXT));
    let function = match (definitions.next(), definitions.next()) {
        (Some(function), None) => function,
        (None, _) => return Err(NotCut::NotDefined),
        (Some(_), Some(_)) => return Err(NotCut::DefinedTwice(TARGET_EXT)),
    };
    let body = function.body.clone().unwrap_or_default();
    let used: Vec<_> = Tokens::of(&text.as_bytes()[body]).collect();
    let mut alone = String::new();
    let mut done = 0;
    for item in &items {
        let name = item.name().unwrap_or_default();
        let stays = name == TARGET_EXT || !item.is_function() && used.contains(&name.as_bytes());
        if !stays {
            alone.push_str(&text[done..item.range.start]);
            done = item.range.end;
        }
    }
    alone.push_str(&text[done..]);
    // Comments tell GCC's linker of functions that are not there any more.
    let lines = alone.lines().filter(|line| !line.starts_with("//"));
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
// BEGIN PREAMBLE
.version 6.0
.target sm_30
.address_size 64
// END PREAMBLE
.file 1 \"target.c\"
.visible .func GOMP_target_ext (.param .u32 a);
.extern .shared .u32 used[32];
.extern .global .u32 unused[1];
.extern .func helper;
// BEGIN GLOBAL FUNCTION DEF: other
.visible .func other
{
ld.global.u32 %r,[unused];
}
// BEGIN GLOBAL FUNCTION DEF: GOMP_target_ext
.visible .func GOMP_target_ext (.param .u32 a)
{
.loc 1 2 3
ld.shared.u32 %r,[used];
ret;
}
";

    #[test]
    fn the_function_and_its_variables_stay() {
        let alone = target_ext_alone(TEXT).expect("it is understood");
        let expected = "\
.version 6.0
.target sm_30
.address_size 64
.file 1 \"target.c\"
.visible .func GOMP_target_ext (.param .u32 a);
.extern .shared .u32 used[32];



.visible .func GOMP_target_ext (.param .u32 a)
{
.loc 1 2 3
ld.shared.u32 %r,[used];
ret;
}
";
        assert_eq!(alone, expected);
    }

    #[test]
    fn texts_without_the_function_are_rejected() {
        assert_eq!(
            target_ext_alone(".func other { ret; }"),
            Err(NotCut::NotDefined)
        );
        let definition = ".func GOMP_target_ext { ret; }\n";
        assert_eq!(
            target_ext_alone(&definition.repeat(2)),
            Err(NotCut::DefinedTwice(TARGET_EXT))
        );
        assert!(target_ext_alone("{").is_err());
    }
}
