//! Recording what a warp does on the bus, for emulators.
//!
//! A read of mapped memory takes a round trip over the bus. A group of lanes goes on until it waits for
//! an outstanding read; that is one *serial read*. The reads that were outstanding at that time arrive
//! together. Divergent groups are counted one by one, although a GPU overlaps their waits.
//!
//! An access or a fence is *repeated* if in every active lane its previous execution was in the same
//! call, with the same address, and the lane has not stored to mapped memory since: it polls or
//! spins. An atomic operation that changes nothing, such as a failed compare-and-swap, is no store.
//! How often an instruction is repeated depends on the speed of the host. So repeated fences,
//! acquires and atomic operations are not counted again, and reads of instructions that were repeated
//! at least once are counted as polls. That is known only at the end, so reads are counted by
//! instruction. Compilers peel the first poll off a loop, so an instruction that has read the same
//! words before, in the same call and without a store in between, polls, too.
//!
//! A system fence *waits for stores* if one of its lanes has stored to mapped memory, and has neither
//! executed a fence since, nor received the value of a read over the bus that it made after the store:
//! such a read arrives after the store has.
//!
//! An *exchange* is the first poll of its words after a store to mapped memory by a polling lane, or
//! in a call. Lanes that call the host one after another make an exchange each, and those that take
//! turns at polling the same words make one together.
//!
//! A module imports from modules below its own row alone:
//!
//! | module | job |
//! |---|---|
//! | `launch` | the counts of a launch |
//! | `recorder` | the counts of a warp |
//! | `repetition` | repeated instructions, and first reads |
//! | `executed` | an executed instruction |

mod executed;
mod launch;
mod recorder;
mod repetition;

pub use self::executed::{Executed, LaneAddresses, LaneMask, MAX_LANES, Site, lanes_of};
pub use self::launch::LaunchCosts;
pub use self::recorder::{FenceScope, Recorder};
pub use self::repetition::Change;
