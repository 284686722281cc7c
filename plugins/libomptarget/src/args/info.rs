//! What `LIBOMPTARGET_INFO` tells of the arguments of constructs.

use super::Args;
use crate::abi::{Ident, MapType};
use crate::report::message;
use crate::report::source::{NameOf, Place};

/// Tells the arguments of a construct of which `what` says what it is.
pub(crate) fn arguments(device: i64, at: *const Ident, what: &str, args: &Args<'_>) {
    // SAFETY: what compilers hand over is null or a place.
    let place = unsafe { Place::shown(at) };
    message::info(
        device,
        &format!("{what} at {place} with {} arguments:", args.len()),
    );
    for (_, arg) in args.iter() {
        let has = |flag| arg.map.has(flag);
        let kind = match (has(MapType::TO), has(MapType::FROM)) {
            (true, true) => "tofrom",
            (true, false) => "to",
            (false, true) => "from",
            _ if has(MapType::PRIVATE) => "private",
            _ if has(MapType::LITERAL) => "firstprivate",
            _ if has(MapType::ATTACH) => "attach",
            _ if arg.size != 0 => "alloc",
            _ => "use_address",
        };
        let implicit = if has(MapType::IMPLICIT) {
            "(implicit)"
        } else {
            ""
        };
        let name = NameOf(arg.name).shown();
        message::info(device, &format!("{kind}({name})[{}] {implicit}", arg.size));
    }
}
