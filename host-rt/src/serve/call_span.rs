//! Spans of calls.

use tracing::debug_span;

use super::{RegisteredFunction, Server};
use crate::base::span::GuardedSpan;
use crate::wire::Request;

/// The span of a call, for a subscriber that wants it: its function, its device, its launch, and the slot and the lane of
/// the device thread on a wire that has some.
pub(super) fn call_span(
    server: &Server,
    function: &RegisteredFunction,
    request: &Request,
) -> GuardedSpan {
    let device = server.device.name();
    let (launch, slot) = (request.launch(), request.slot());
    let lane = request.native().map(|native| native.lane.rank);
    GuardedSpan::new(|| {
        debug_span!(
            "call",
            otel.name = function.name(),
            device,
            launch,
            slot,
            lane
        )
    })
}
