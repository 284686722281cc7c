//! Initial registers of a wave.
//!
//! Source: LLVM, "User Guide for AMDGPU Backend", initial kernel execution state.

use super::costs::CostRecorder;
use super::group::Group;
use super::outstanding::WaveCheck;
use super::pending::Pending;
use super::private_memory::{GARBAGE, PrivateMemory};
use super::register_counts::RegisterCounts;
use super::wave::{FLAT_SCRATCH, TRAP, VECTORS, Wave};
use crate::alu::Row;
use crate::arch::{Arch, Generation};
use crate::descriptor::UserData;
use crate::memory::SCRATCH;

/// Buffer resource for private memory: interleaves the words of lanes and adds the lane.
fn private_buffer() -> [u32; 4] {
    const SWIZZLE: u32 = 1 << 31;
    const ADD_LANE: u32 = 1 << 23;
    const STRIDE_OF_64_LANES: u32 = 3 << 21;
    const ELEMENTS_OF_4_BYTES: u32 = 1 << 19;
    const FORMAT: u32 = 4 << 15 | 7 << 12;
    [
        SCRATCH as u32,
        (SCRATCH >> 32) as u32 | SWIZZLE,
        u32::MAX,
        ADD_LANE | STRIDE_OF_64_LANES | ELEMENTS_OF_4_BYTES | FORMAT,
    ]
}

/// Whether hardware sets the address of private memory itself.
fn has_architected_scratch(arch: Arch) -> bool {
    arch == Arch::Gfx942 || arch.generation() != Generation::Gfx9
}

/// Creates a wave in its initial state.
pub(super) fn wave(group: &Group, number: u32, rows: Vec<Row>, private: PrivateMemory) -> Wave {
    let kernel = &group.kernel;
    let (target, descriptor, dispatch) = (kernel.target, &kernel.descriptor, &kernel.dispatch);
    let lanes = kernel.wave_lanes();
    let private = PrivateMemory::new(private, lanes, dispatch.private_bytes);
    let mut wave = Wave::new(target, number, descriptor.registers(target), rows, private);
    wave.pc = kernel.entry();
    wave.mode = descriptor.float_mode(wave.target.arch.generation());
    let threads: u32 = dispatch.workgroup.iter().product();
    let mut exec = 0;
    for lane in 0..lanes {
        let [x, y, z] = kernel.lane_place(number, lane as usize);
        let place = [x, y, z];
        // The last workgroups of a grid may be partial.
        let is_inside = (0..3).all(|at| {
            u64::from(group.place[at]) * u64::from(dispatch.workgroup[at]) + u64::from(place[at])
                < u64::from(dispatch.grid[at])
        });
        if number * lanes + lane < threads && is_inside {
            exec |= 1 << lane;
        }
        if kernel.traces(group.place, place) {
            wave.traced = Some(lane as usize);
        }
        set_workitem(
            &mut wave,
            lane as usize,
            place,
            descriptor.workitem_dimensions(),
        );
    }
    wave.set_exec(exec);
    wave.pending = kernel.weak.map(|weak| {
        let salt = u64::from(number) << 32 ^ u64::from(group.place[0]) << 40;
        Box::new(Pending::new(weak, salt))
    });
    wave.costs = kernel.costs.as_ref().map(|costs| {
        let generation = target.arch.generation();
        let mut recorder = CostRecorder::new(generation, wave.lanes, costs.entry);
        recorder.begin(wave.pc, exec);
        Box::new(recorder)
    });
    wave.check = kernel
        .check
        .is_some()
        .then(|| Box::new(WaveCheck::new(target.arch)));
    wave.is_observed = wave.pending.is_some() || wave.costs.is_some() || wave.check.is_some();
    set_scalars(&mut wave, group);
    wave
}

fn set_workitem(wave: &mut Wave, lane: usize, [x, y, z]: [u32; 3], dimensions: u32) {
    let is_packed = !matches!(wave.target.arch, Arch::Gfx906 | Arch::Gfx908);
    if is_packed {
        wave.set_word(VECTORS, lane, x | y << 10 | z << 20);
        return;
    }
    for (at, id) in [x, y, z].into_iter().enumerate().take(dimensions as usize) {
        if wave.has(RegisterCounts::new([0, at as u16 + 1, 0])) {
            wave.set_word(VECTORS + at, lane, id);
        }
    }
}

fn set_scalars(wave: &mut Wave, group: &Group) {
    let kernel = &group.kernel;
    let (descriptor, dispatch) = (&kernel.descriptor, &kernel.dispatch);
    let offset = wave.scratch_offset();
    let mut registers: Vec<u32> = Vec::new();
    for data in descriptor.user_data() {
        let pair = |value: u64| [value as u32, (value >> 32) as u32];
        match data {
            UserData::PrivateSegmentBuffer => registers.extend(private_buffer()),
            UserData::DispatchPointer => registers.extend(pair(dispatch.packet)),
            UserData::QueuePointer => registers.extend(pair(dispatch.queue)),
            UserData::KernargPointer => registers.extend(pair(dispatch.kernarg)),
            UserData::DispatchId => registers.extend(pair(dispatch.dispatch_id)),
            UserData::FlatScratch => registers.extend(pair(SCRATCH)),
            UserData::PrivateSegmentSize => registers.push(dispatch.private_bytes),
        }
    }
    // Arguments are not preloaded. The entry has code for firmware that does not preload them.
    registers.resize(usize::from(descriptor.user_registers()), GARBAGE);
    let architected = has_architected_scratch(wave.target.arch);
    if wave.target.arch.generation() == Generation::Gfx12 {
        let [x, y, z] = group.place;
        wave.scalars[usize::from(TRAP) + 9] = x;
        wave.scalars[usize::from(TRAP) + 7] = z << 16 | y & 0xffff;
    } else {
        let ids = descriptor.workgroup_ids().into_iter().zip(group.place);
        registers.extend(ids.filter_map(|(wants, id)| wants.then_some(id)));
    }
    if descriptor.has_workgroup_info() {
        registers.push(kernel.waves());
    }
    if descriptor.has_private_memory() && !architected {
        registers.push(offset);
    }
    for (register, value) in wave.scalars[..102].iter_mut().zip(registers) {
        *register = value;
    }
    if wave.target.arch.generation() != Generation::Gfx9 {
        // The null register.
        wave.scalars[124] = 0;
    }
    if wave.target.arch == Arch::Gfx942 {
        wave.set_pair(FLAT_SCRATCH, SCRATCH + u64::from(offset));
    }
}
