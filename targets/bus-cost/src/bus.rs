//! The model: the time of a call, estimated from its counts. This file alone has the parameters.
//!
//! The estimate is the time from a warp's first store to its view of the last reply, if the host needs
//! no time. With `L` for [`Bus::read_ns`] and `T` for [`Bus::one_way_ns`], it is the sum of:
//!
//! | part | formula |
//! |---|---|
//! | [`Estimate::issue_ns`] | time to send all stores and atomics: (bytes + transactions × `request_bytes`) / `bytes_per_ns` |
//! | [`Estimate::fences_ns`] | system fences that wait for stores × `fence_ns` |
//! | [`Estimate::request_ns`] | exchanges × `T`: the last store travels to the host |
//! | [`Estimate::reply_ns`] | exchanges × (`L` / 2 + `T`): polls follow each other without a pause, so the host's reply waits for half a poll on average, and then travels back |
//! | [`Estimate::reads_ns`] | serial reads × `L`, plus the time to send their data: (sectors × 32 + transactions × `request_bytes`) / `bytes_per_ns` |
//! | [`Estimate::l1_drops_ns`] | L1 invalidations × `l1_drop_ns` |
//!
//! An emulated host takes its time, so an emulated call polls more often than one on hardware. The
//! number of polls must not matter:
//!
//! - Only the first poll of each exchange is charged. A call that stores and does not poll makes one
//!   exchange, whose reply takes `T`: it comes without a read over the bus (it lives in device memory).
//! - A fence is expensive only while stores are outstanding, so fences that accompany each poll add
//!   nothing.
//!
//! The model omits contention between warps, the traffic of polls, write combining across
//! instructions, address translation, caches of the host, instructions of the warp, and the host's
//! own work.
//!
//! The counts and the model are also described in docs/bus-model.md.

use serde::Serialize;

use crate::counts::PerCall;
use crate::traffic::Traffic;

/// The minimum bytes that a read over the bus returns.
const READ_BYTES: f64 = 32.0;

/// A bus between device and host.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Bus {
    /// Its name.
    pub name: &'static str,
    /// From a store on one side until the other side can see it.
    pub one_way_ns: f64,
    /// A dependent load of mapped memory by the device: the round trip.
    pub read_ns: f64,
    /// A system fence while stores to mapped memory are outstanding.
    pub fence_ns: f64,
    /// Bandwidth in one direction, for requests and data together.
    pub bytes_per_ns: f64,
    /// The overhead of a transaction: headers, checksums, framing.
    pub request_bytes: f64,
    /// The cost of an L1 invalidation.
    pub l1_drop_ns: f64,
}

/// A memory write of PCIe with a 64-bit address: 2 bytes of framing, 6 of the data link layer, 16 of
/// header. Source: Neugebauer et al., "Understanding PCIe performance for end host networking",
/// SIGCOMM 2018, and its model (github.com/pcie-bench/pcie-model, `model/pcie.py`).
const PCIE_WRITE_HEADER: f64 = 24.0;

/// One L1 hit becomes an L2 hit: 151.3 ns instead of 19.5 ns on an H100 PCIe at 1755 MHz. Source: Ernst,
/// github.com/te42kyfo/gpu-benches, `gpu-latency/h100_pcie.txt`.
///
/// Assumed: one hit for each invalidation, since a warp that waits for the host has little in L1; and
/// the same figure for all GPUs.
const L1_DROP_NS: f64 = 151.3 - 19.5;

/// The buses to estimate for.
///
/// We found no published figure for two parameters, and assume for all buses:
///
/// - `one_way_ns` is half of `read_ns`.
/// - `fence_ns` is `read_ns`: a system fence has to learn that stores have reached the host, which takes
///   a round trip. NVIDIA confirms that such fences cost latency, without a figure
///   (github.com/NVIDIA/nccl, issue 765).
pub const BUSES: [Bus; 3] = [
    Bus {
        name: "PCIe 4.0 x16",
        one_way_ns: 700.0,
        // 1.4 us: nvbandwidth's `host_device_latency_sm` on H100s of AWS P5 instances, whose link to the
        // CPU is a PCIe 4.0 x8 behind a switch. Source: Hugging Face's report on the training of
        // SmolLM3, 2025 (read in a copy). Assumed: x16 has the same latency.
        read_ns: 1400.0,
        fence_ns: 1400.0,
        // 16 GT/s × 16 lanes × 128/130, less acknowledgements, flow control and skips for payloads of
        // 256 bytes. Source: the model of Neugebauer et al., 2018 (see `PCIE_WRITE_HEADER`).
        bytes_per_ns: 28.4,
        request_bytes: PCIE_WRITE_HEADER,
        l1_drop_ns: L1_DROP_NS,
    },
    Bus {
        name: "PCIe 5.0 x16",
        one_way_ns: 595.5,
        // 1191 ns: nvbandwidth's `host_device_latency_sm` on an H200 of Google's a3-ultragpu-8g, with memory
        // of the GPU's own NUMA node. Source: "Device alignment of GPU, NIC, and CPU with DRA", Krishna,
        // github.com/ai-on-gke/website, 2026.
        read_ns: 1191.0,
        fence_ns: 1191.0,
        // As for PCIe 4.0, at 32 GT/s. Check: stores of 256 bytes would reach 56.8 × 256/280 = 51.9 GB/s;
        // measured with an H100 are 52.8 GB/s (github.com/NVIDIA/nvbandwidth, issue 24, 2024).
        bytes_per_ns: 56.8,
        request_bytes: PCIE_WRITE_HEADER,
        l1_drop_ns: L1_DROP_NS,
    },
    Bus {
        name: "NVLink-C2C (GH200)",
        one_way_ns: 386.3,
        // 772.58 ns: nvbandwidth's `host_device_latency_sm` on a GH200 480GB. Source:
        // github.com/microsoft/superbenchmark, `tests/data/nvbandwidth_results.log`.
        read_ns: 772.6,
        fence_ns: 772.6,
        // 900 GB/s in both directions. Source: NVIDIA, "Grace Hopper Superchip Architecture In-Depth", 2022.
        bytes_per_ns: 450.0,
        // Assumed: NVIDIA does not publish the format of packets. With 32 bytes, stores of 128 bytes
        // would reach 450 × 128/160 = 360 GB/s; measured are 352 GB/s (the same log).
        request_bytes: 32.0,
        l1_drop_ns: L1_DROP_NS,
    },
];

/// The estimated round trip of a call, in parts, without the host's own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Estimate {
    /// Sending stores and atomics.
    pub issue_ns: f64,
    /// System fences.
    pub fences_ns: f64,
    /// The last store's way to the host.
    pub request_ns: f64,
    /// The reply's wait for a poll, and its way back.
    pub reply_ns: f64,
    /// Reads over the bus besides polls.
    pub reads_ns: f64,
    /// L1 invalidations.
    pub l1_drops_ns: f64,
}

impl Estimate {
    /// The sum of the parts.
    pub fn total_ns(&self) -> f64 {
        let Self {
            issue_ns,
            fences_ns,
            request_ns,
            reply_ns,
            reads_ns,
            l1_drops_ns,
        } = self;
        issue_ns + fences_ns + request_ns + reply_ns + reads_ns + l1_drops_ns
    }
}

impl Bus {
    /// The estimated round trip of a call. See the module's documentation for the formula.
    pub fn estimate(&self, call: &PerCall) -> Estimate {
        let writes = call.stores.instructions + call.atomics.instructions;
        // Exchanges whose reply is in device memory are not counted.
        let uncounted = (writes.min(1.0) - call.exchanges).max(0.0);

        Estimate {
            issue_ns: self.write_ns(&call.stores) + self.write_ns(&call.atomics),
            fences_ns: call.store_fences * self.fence_ns,
            request_ns: (call.exchanges + uncounted) * self.one_way_ns,
            reply_ns: call.exchanges * (self.read_ns / 2.0 + self.one_way_ns)
                + uncounted * self.one_way_ns,
            reads_ns: call.serial_reads * self.read_ns
                + self.transfer_ns(call.loads.sectors * READ_BYTES, call.loads.transactions),
            l1_drops_ns: call.l1_drops * self.l1_drop_ns,
        }
    }

    /// A bare exchange of two flags: one store to the host, then polls, without a fence. It is a lower
    /// bound of every call that stores at least a word and polls at least once.
    pub fn two_flag(&self) -> Estimate {
        self.estimate(&PerCall {
            stores: Traffic {
                instructions: 1.0,
                accesses: 1.0,
                bytes: 4.0,
                sectors: 1.0,
                lines: 1.0,
                transactions: 1.0,
            },
            exchanges: 1.0,
            ..PerCall::default()
        })
    }

    /// Sending the data of writes. Bytes that several lanes write travel once.
    fn write_ns(&self, writes: &Traffic<f64>) -> f64 {
        self.transfer_ns(
            writes.bytes.min(writes.sectors * READ_BYTES),
            writes.transactions,
        )
    }

    fn transfer_ns(&self, bytes: f64, transactions: f64) -> f64 {
        (bytes + transactions * self.request_bytes) / self.bytes_per_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::Calls;

    /// Round numbers.
    const BUS: Bus = Bus {
        name: "test",
        one_way_ns: 300.0,
        read_ns: 800.0,
        fence_ns: 500.0,
        bytes_per_ns: 10.0,
        request_bytes: 20.0,
        l1_drop_ns: 50.0,
    };

    /// The averages of one call, which stores as many words into different lines as its warp has lanes.
    fn call(lanes: u64) -> PerCall {
        let accesses: Vec<_> = (0..lanes).map(|lane| (1024 * lane, 4)).collect();
        let mut calls = Calls {
            warp_calls: 1,
            ..Calls::default()
        };
        calls.counts.stores.add(&accesses);
        calls.counts.serial_polls = 1;
        calls.counts.exchanges = 1;
        calls.per_warp_call().expect("there was a call")
    }

    #[test]
    fn a_call_computed_by_hand() {
        let mut calls = Calls {
            warp_calls: 2,
            lane_calls: 64,
            ..Calls::default()
        };
        let counts = &mut calls.counts;
        let contiguous: Vec<_> = (0..32).map(|lane| (16 * lane, 16)).collect();
        for _ in 0..2 {
            // 512 bytes in 4 transactions, a fence, a flag, polls, then 64 bytes by two serial reads.
            counts.stores.add(&contiguous);
            counts.stores.add(&[(0x1000, 8)]);
            counts.store_fences += 1;
            counts.serial_polls += 7;
            counts.exchanges += 1;
            counts.l1_drops += 1;
            counts.loads.add(&[(0x2000, 16), (0x2010, 16)]);
            counts.loads.add(&[(0x2020, 16), (0x2030, 16)]);
            counts.serial_reads += 2;
        }
        let call = calls.per_warp_call().expect("there were calls");

        let expected = Estimate {
            // (512 + 8 bytes + 5 requests of 20) / 10
            issue_ns: 62.0,
            fences_ns: 500.0,
            request_ns: 300.0,
            // 800 / 2 + 300
            reply_ns: 700.0,
            // 2 of 800, and (2 sectors of 32 + 2 requests of 20) / 10
            reads_ns: 1610.4,
            l1_drops_ns: 50.0,
        };
        assert_eq!(BUS.estimate(&call), expected);
        assert!((expected.total_ns() - 3222.4).abs() < 1e-9);
    }

    #[test]
    fn a_call_that_does_nothing_takes_no_time() {
        assert_eq!(BUS.estimate(&PerCall::default()), Estimate::default());
    }

    #[test]
    fn the_number_of_polls_is_irrelevant() {
        let once = call(1);
        let mut often = call(1);
        often.serial_polls = 1000.0;
        assert_eq!(BUS.estimate(&once), BUS.estimate(&often));

        // Nor does it matter if a fence follows each poll.
        let (mut once, mut often) = (once, often);
        (once.fences.sys, often.fences.sys) = (1.0, 1000.0);
        assert_eq!(BUS.estimate(&once), BUS.estimate(&often));
    }

    #[test]
    fn acquires_are_charged() {
        let mut call = call(1);
        call.l1_drops = 3.0;
        assert_eq!(BUS.estimate(&call).l1_drops_ns, 150.0);
    }

    #[test]
    fn a_fence_without_stores_is_free() {
        let mut fence = PerCall::default();
        fence.fences.sys = 2.0;
        assert_eq!(BUS.estimate(&fence).fences_ns, 0.0);

        let mut call = call(1);
        call.fences.gpu = 3.0;
        assert_eq!(BUS.estimate(&call).fences_ns, 0.0);
        call.fences.sys = 1.0;
        assert_eq!(BUS.estimate(&call).fences_ns, 0.0);
        call.store_fences = 1.0;
        assert_eq!(BUS.estimate(&call).fences_ns, 500.0);
    }

    #[test]
    fn a_reply_in_device_memory_needs_no_poll_of_the_bus() {
        let mut call = call(1);
        call.exchanges = 0.0;
        let estimate = BUS.estimate(&call);
        assert_eq!((estimate.request_ns, estimate.reply_ns), (300.0, 300.0));
    }

    #[test]
    fn calls_one_after_another_take_the_sum_of_their_times() {
        let mut calls = Calls {
            warp_calls: 32,
            ..Calls::default()
        };
        let counts = &mut calls.counts;
        for lane in 0..32 {
            counts.stores.add(&[(1024 * lane, 4)]);
            counts.store_fences += 1;
            counts.exchanges += 1;
            counts.serial_polls += 2;
        }
        let [one, all] = [32, 1].map(|calls_made| {
            let call = calls.average(calls_made).expect("there were calls");
            BUS.estimate(&call).total_ns()
        });
        assert_eq!(all, 32.0 * one);
    }

    #[test]
    fn words_that_all_lanes_write_travel_once() {
        let mut calls = Calls {
            warp_calls: 1,
            ..Calls::default()
        };
        calls.counts.stores.add(&[(0, 16); 32]);
        let call = calls.per_warp_call().expect("there was a call");
        // A sector of 32 bytes and a request of 20.
        assert_eq!(BUS.estimate(&call).issue_ns, 5.2);
    }

    #[test]
    fn two_flags_are_a_lower_bound() {
        for bus in &BUSES {
            let bound = bus.two_flag().total_ns();
            assert_eq!(bus.estimate(&call(1)).total_ns(), bound);
            assert!(bus.estimate(&call(2)).total_ns() > bound);

            let mut fenced = call(1);
            fenced.store_fences = 1.0;
            assert!(bus.estimate(&fenced).total_ns() >= bound + bus.fence_ns);

            let mut reading = call(1);
            reading.serial_reads = 1.0;
            assert!(bus.estimate(&reading).total_ns() >= bound + bus.read_ns);
        }
    }

    #[test]
    fn two_flags_take_one_and_a_half_round_trips() {
        for bus in &BUSES {
            let trips = bus.two_flag().total_ns() / bus.read_ns;
            assert!((1.5..1.51).contains(&trips), "{}: {trips}", bus.name);
        }
    }

    #[test]
    fn scattered_stores_take_longer_to_send() {
        for bus in &BUSES {
            let mut calls = Calls {
                warp_calls: 1,
                ..Calls::default()
            };
            let contiguous: Vec<_> = (0..32).map(|lane| (4 * lane, 4)).collect();
            calls.counts.stores.add(&contiguous);
            let together = calls.per_warp_call().expect("there was a call");
            let [together, apart] = [together, call(32)].map(|call| bus.estimate(&call).issue_ns);
            assert!(apart > 4.0 * together, "{}: {apart}", bus.name);
        }
    }
}
