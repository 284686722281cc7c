//! Calls that their thread does not wait for.
//!
//! Such a call is an ordinary request of one lane, in a slot of its own, which the calling thread keeps
//! until it has read the reply. All data of its arguments is in the slot, in both directions, so the host
//! never accesses the memory of the arguments: it may be freed and changed while the call is in flight.
//! No function here waits for anything that another thread or an unfinished call owns, except
//! [`finish`], which waits for the host.

use shared_abi::status::Status;
use shared_abi::wire::native::{WRITTEN_BITS, reply_payload_row};

use super::native::{LaneRows, Progress, Reply, Request};
use crate::arch;
use crate::bounce::Extent;
use crate::call::Call;
use crate::claims::{self, Claim};
use crate::host_written::RuntimeConfig;
use crate::lanes::Lanes;
use crate::marshal::native::{CopiesAll, Layout};
use crate::wake::wake_host;

/// Publishes a call that fits a slot.
///
/// # Errors
/// It does not fit, or no slot is free for it. Nothing is published.
pub(crate) fn start(runtime: &RuntimeConfig, call: Call<CopiesAll>) -> Result<Claim, Status> {
    let count = call.args.count();
    let mut layout = Layout::new(count, call.spaces);
    for i in 0..count {
        layout.next(call.args.get(i));
    }
    if layout.is_too_large() || layout.has_outside_ranges() {
        return Err(Status::REFUSED_MAPPING);
    }
    let request = request(runtime, call, layout.request_rows());
    let device = request.device();
    let claim = claims::take_started(&device, runtime.slots(), call.home_group);
    let claim = claim.ok_or(Status::TOO_MANY)?;
    request.write_request(rows_of(claim), Extent::NONE);
    wake_host(runtime);
    Ok(claim)
}

/// Whether the reply to a call has come.
pub(crate) fn is_ready(runtime: &RuntimeConfig, claim: Claim, call: Call<CopiesAll>) -> bool {
    let (request, at) = (request(runtime, call, 0), rows_of(claim));
    let producer = request.producer();
    producer.row(at, producer.polled_offset(at)).is_some()
}

/// Waits for the reply to a call, copies its results to its arguments, and frees its slot.
pub(crate) fn finish(runtime: &RuntimeConfig, claim: Claim, call: Call<CopiesAll>) -> Status {
    let (request, at) = (request(runtime, call, 0), rows_of(claim));
    let reply = wait(&request, at);
    request.read_results(at, Extent::NONE, reply.written);
    claims::release(&request.device(), claim);
    reply.status
}

/// Like [`finish`], for a call with `count` arguments of which the host writes only the last, which has
/// at most 8 bytes. Its result is ignored.
pub(crate) fn finish_posted(
    runtime: &RuntimeConfig,
    claim: Claim,
    call: Call<CopiesAll>,
    count: u32,
) -> Status {
    let (request, at) = (request(runtime, call, 0), rows_of(claim));
    let reply = wait(&request, at);
    // All rows that the host writes have arrived before the slot is freed: the reply to its next request
    // is in the same rows.
    let producer = request.producer();
    let mut written = u64::from(reply.written);
    if count > WRITTEN_BITS {
        written |= producer.written_high(at, arch::pause);
    }
    if written != 0 {
        producer.arrived_row(at, reply_payload_row(count), arch::pause);
    }
    claims::release(&request.device(), claim);
    reply.status
}

/// The calling lane's request. `rows` is used only to write it.
fn request(runtime: &RuntimeConfig, call: Call<CopiesAll>, rows: u32) -> Request<'_, CopiesAll> {
    Request {
        runtime,
        call,
        rows,
        reply_rows: 0,
        is_ordered: false,
        lanes: Lanes::alone(),
    }
}

fn rows_of(claim: Claim) -> LaneRows {
    LaneRows {
        claim,
        rank: 0,
        count: 1,
    }
}

fn wait(request: &Request<'_, CopiesAll>, at: LaneRows) -> Reply {
    let producer = request.producer();
    let cells = producer.wait(at, |_| true, arch::pause);
    producer.acquire(at, false);
    match Progress::new(cells, at.count).reply {
        Some(reply) => reply,
        // Not for a lane alone.
        None => producer.reply(at, arch::pause),
    }
}
