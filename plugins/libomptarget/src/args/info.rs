//! The arguments of constructs, as `LIBOMPTARGET_INFO` reports them.

use super::Args;
use crate::abi::{Ident, MapType};
use crate::report::message;
use crate::report::source::{SourceLocation, SourceName};

/// Reports the arguments of a construct, which `what` describes.
pub(crate) fn arguments(device: i64, at: *const Ident, what: &str, args: &Args<'_>) {
    // SAFETY: compilers pass null or a location.
    let location = unsafe { SourceLocation::shown(at) };
    message::info(
        device,
        &format!("{what} at {location} with {} arguments:", args.len()),
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
        let name = SourceName(arg.name).shown();
        message::info(device, &format!("{kind}({name})[{}] {implicit}", arg.size));
    }
}
