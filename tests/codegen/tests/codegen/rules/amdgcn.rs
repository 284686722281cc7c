//! AMD: LLVM, "User Guide for AMDGPU Backend", "Memory Model", the tables of code
//! sequences, the rows for system scope.

use codegen::listing::{Function, find};
use codegen::shared::shared;
use targets::arch::{Arch, Target};

use super::{check, expect_instruction};

/// A step of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// An instruction, with the bits of its scope.
    Op(&'static str),
    /// A wait until all loads are done, and on gfx9 also all stores.
    Loads,
    /// A wait until all stores are done.
    Stores,
    /// The wait for the write-back before it.
    WriteBack,
}
use Step::{Loads, Op, Stores, WriteBack};

/// The sequences of system scope for a family of processors.
struct Family {
    arches: &'static [&'static str],
    /// Lanes of a wave.
    lanes: u32,
    /// Before a release.
    release: &'static [Step],
    /// After an acquire.
    acquire: &'static [Step],
    /// Stores of 8, 32 and 64 bits.
    stores: [&'static str; 3],
    /// Loads of 8, 32 and 64 bits.
    loads: [&'static str; 3],
    /// An add.
    add: &'static str,
    /// The sequences of agent scope, for device memory.
    agent: Agent,
}

/// Accesses of agent scope to words of 32 bits.
struct Agent {
    load: &'static str,
    store: &'static str,
    or: &'static str,
    and: &'static str,
    /// Before a release.
    release: &'static [Step],
    /// After an acquire.
    acquire: &'static [Step],
}

const FAMILIES: &[Family] = &[
    Family {
        arches: &["gfx906", "gfx908"],
        lanes: 64,
        release: &[Loads, Stores],
        acquire: &[Loads, Op("buffer_wbinvl1_vol")],
        stores: ["flat_store_byte", "flat_store_dword", "flat_store_dwordx2"],
        loads: [
            "flat_load_ubyte glc",
            "flat_load_dword glc",
            "flat_load_dwordx2 glc",
        ],
        add: "flat_atomic_add glc",
        agent: Agent {
            load: "global_load_dword glc",
            store: "global_store_dword",
            or: "global_atomic_or glc",
            and: "global_atomic_and glc",
            release: &[Loads, Stores],
            acquire: &[Loads, Op("buffer_wbinvl1_vol")],
        },
    },
    Family {
        arches: &["gfx90a"],
        lanes: 64,
        release: &[Loads, Stores, Op("buffer_wbl2"), WriteBack],
        acquire: &[Loads, Op("buffer_invl2"), Op("buffer_wbinvl1_vol")],
        stores: ["flat_store_byte", "flat_store_dword", "flat_store_dwordx2"],
        loads: [
            "flat_load_ubyte glc",
            "flat_load_dword glc",
            "flat_load_dwordx2 glc",
        ],
        add: "flat_atomic_add glc",
        agent: Agent {
            load: "global_load_dword glc",
            store: "global_store_dword",
            or: "global_atomic_or glc",
            and: "global_atomic_and glc",
            release: &[Loads, Stores],
            acquire: &[Loads, Op("buffer_wbinvl1_vol")],
        },
    },
    Family {
        arches: &["gfx942"],
        lanes: 64,
        release: &[Loads, Stores, Op("buffer_wbl2 sc0 sc1"), WriteBack],
        acquire: &[Loads, Op("buffer_inv sc0 sc1")],
        stores: [
            "flat_store_byte sc0 sc1",
            "flat_store_dword sc0 sc1",
            "flat_store_dwordx2 sc0 sc1",
        ],
        loads: [
            "flat_load_ubyte sc0 sc1",
            "flat_load_dword sc0 sc1",
            "flat_load_dwordx2 sc0 sc1",
        ],
        add: "flat_atomic_add sc0 sc1",
        agent: Agent {
            load: "global_load_dword sc1",
            store: "global_store_dword sc1",
            or: "global_atomic_or sc0",
            and: "global_atomic_and sc0",
            release: &[Loads, Stores, Op("buffer_wbl2 sc1")],
            acquire: &[Loads, Op("buffer_inv sc1")],
        },
    },
    Family {
        arches: &["gfx1030"],
        lanes: 32,
        release: &[Loads, Stores],
        acquire: &[Loads, Op("buffer_gl1_inv"), Op("buffer_gl0_inv")],
        stores: ["flat_store_byte", "flat_store_dword", "flat_store_dwordx2"],
        loads: [
            "flat_load_ubyte glc dlc",
            "flat_load_dword glc dlc",
            "flat_load_dwordx2 glc dlc",
        ],
        add: "flat_atomic_add glc",
        agent: Agent {
            load: "global_load_dword glc dlc",
            store: "global_store_dword",
            or: "global_atomic_or glc",
            and: "global_atomic_and glc",
            release: &[Loads, Stores],
            acquire: &[Loads, Op("buffer_gl1_inv"), Op("buffer_gl0_inv")],
        },
    },
    Family {
        arches: &["gfx1100"],
        lanes: 32,
        release: &[Loads, Stores],
        acquire: &[Loads, Op("buffer_gl1_inv"), Op("buffer_gl0_inv")],
        stores: ["flat_store_b8", "flat_store_b32", "flat_store_b64"],
        loads: ["flat_load_u8 glc", "flat_load_b32 glc", "flat_load_b64 glc"],
        add: "flat_atomic_add_u32 glc",
        agent: Agent {
            load: "global_load_b32 glc",
            store: "global_store_b32",
            or: "global_atomic_or_b32 glc",
            and: "global_atomic_and_b32 glc",
            release: &[Loads, Stores],
            acquire: &[Loads, Op("buffer_gl1_inv"), Op("buffer_gl0_inv")],
        },
    },
    Family {
        arches: &["gfx1201"],
        lanes: 32,
        release: &[Loads, Op("global_wb scope:SCOPE_SYS"), Stores],
        acquire: &[Loads, Op("global_inv scope:SCOPE_SYS")],
        stores: [
            "flat_store_b8 scope:SCOPE_SYS",
            "flat_store_b32 scope:SCOPE_SYS",
            "flat_store_b64 scope:SCOPE_SYS",
        ],
        loads: [
            "flat_load_u8 scope:SCOPE_SYS",
            "flat_load_b32 scope:SCOPE_SYS",
            "flat_load_b64 scope:SCOPE_SYS",
        ],
        add: "flat_atomic_add_u32 th:TH_ATOMIC_RETURN scope:SCOPE_SYS",
        agent: Agent {
            load: "global_load_b32 scope:SCOPE_DEV",
            store: "global_store_b32 scope:SCOPE_DEV",
            or: "global_atomic_or_b32 th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            and: "global_atomic_and_b32 th:TH_ATOMIC_RETURN scope:SCOPE_DEV",
            release: &[Loads, Stores],
            acquire: &[Loads, Op("global_inv scope:SCOPE_DEV")],
        },
    },
];

impl Family {
    fn of(arch: &Arch) -> Option<&'static Self> {
        FAMILIES
            .iter()
            .find(|family| family.arches.contains(&arch.name))
    }

    /// A store of 16 bytes, where a store's scope is not part of the instruction.
    fn store_pair(&self) -> Vec<Step> {
        match self.stores[2] {
            "flat_store_dwordx2" => vec![Op("global_store_dwordx4")],
            "flat_store_b64" => vec![Op("global_store_b128")],
            store64 => vec![Op(store64); 2],
        }
    }

    /// Each primitive that touches memory.
    fn sequences(&self) -> Vec<(&'static str, Vec<Step>)> {
        let [store8, store32, store64] = self.stores.map(Op);
        let [load8, load32, load64] = self.loads.map(Op);
        let agent = &self.agent;
        let agent_acquired = |op| [&[Op(op)], agent.acquire].concat();
        let released = |store| [self.release, &[store]].concat();
        let acquired = |load| [&[load], self.acquire].concat();
        // The acquire's wait is for a load, of which there is none.
        let acquire = &self.acquire[1..];
        let fence = match self.release {
            // device-rt waits before LLVM's fence, which then writes back again.
            [Loads, Stores, write_back, WriteBack] => {
                [self.release, &[*write_back], acquire].concat()
            }
            release => [release, acquire].concat(),
        };
        // Each word by itself, in memory before `written` is stored, and not delayed by a
        // write-back: see the wire's producer. There are no loads to wait for.
        let write_back = self.release.iter().filter(|step| matches!(step, Op(_)));
        let message = [store64; 7]
            .into_iter()
            .chain([store32])
            .chain(write_back.copied())
            .chain([Stores, store32])
            .collect();
        vec![
            ("gcn_publish", message),
            ("system_load8", vec![load8]),
            ("system_load32_relaxed", vec![load32]),
            ("system_load32_acquire", acquired(load32)),
            ("system_load64_relaxed", vec![load64]),
            ("system_load64_acquire", acquired(load64)),
            ("system_store8", vec![store8]),
            ("system_store32_relaxed", vec![store32]),
            ("system_store32_release", released(store32)),
            ("system_store64_relaxed", vec![store64]),
            ("system_store64_release", released(store64)),
            ("system_load_pair", vec![load64; 2]),
            ("system_store_pair", self.store_pair()),
            ("fence", [self.release, acquire].concat()),
            ("system_release_fence", self.release.to_vec()),
            ("system_acquire_fence", acquire.to_vec()),
            ("system_fence", fence),
            ("ticket_add_relaxed", vec![Op(self.add)]),
            ("device_load32_relaxed", vec![Op(agent.load)]),
            ("device_load32_acquire", agent_acquired(agent.load)),
            ("device_store32_relaxed", vec![Op(agent.store)]),
            ("device_or_acquire", agent_acquired(agent.or)),
            // The words that claims protect are written through.
            (
                "device_and_release",
                [agent.release, &[Op(agent.and)]].concat(),
            ),
        ]
    }
}

impl Family {
    /// The name of the mask of active lanes.
    fn exec(&self) -> &'static [&'static str] {
        if self.lanes == 32 {
            &["exec_lo"]
        } else {
            &["exec"]
        }
    }

    /// The instruction that returns it.
    fn size_of_wave(&self) -> &'static [&'static str] {
        if self.lanes == 32 {
            &["v_mov_b32", " 32"]
        } else {
            &["v_mov_b32", " 64"]
        }
    }
}

/// Lanes that are together claim by one operation, executed by one of them: the others are masked
/// out before it. They get its result, and it waits by sleeping.
fn claims_together(family: &Family, function: &Function) -> Result<(), String> {
    let texts: Vec<String> = function
        .instructions()
        .map(|(_, instruction)| instruction.to_string())
        .collect();
    let swaps: Vec<usize> = (0..texts.len())
        .filter(|&i| texts[i].contains("_atomic_"))
        .collect();
    let [swap] = swaps[..] else {
        return Err(format!("{} read-modify-writes, not one", swaps.len()));
    };
    let other_width = format!("_saveexec_b{} ", 96 - family.lanes);
    if let Some(other) = texts.iter().find(|text| text.contains(&other_width)) {
        return Err(format!("`{other}` is of another width"));
    }
    let after = |from: usize, words: &[&str]| {
        let found = (from..texts.len()).find(|&i| words.iter().any(|word| texts[i].contains(word)));
        found.ok_or(format!(
            "no {} behind line {from} of it",
            words.join(" or ")
        ))
    };
    let elected = after(0, &["s_ff1_i32_b", "s_ctz_i32_b"])?;
    let masked = after(elected, &["_saveexec_b"])?;
    if masked > swap {
        return Err(format!(
            "line {swap} of it claims, and only {masked} masks lanes out"
        ));
    }
    after(swap, &["v_readfirstlane_b32"])?;
    after(0, &["s_sleep"])?;
    Ok(())
}

/// Whether an instruction, in the form of [`shared`], waits for the loads before it.
fn waits_for_loads(text: &str) -> bool {
    text.starts_with("s_waitcnt ") && text.contains("vmcnt(0)")
        || ["s_wait_loadcnt 0x0", "s_wait_loadcnt_dscnt 0x0"].contains(&text)
}

/// Whether it waits for the stores. Up to gfx9 there is one counter for both.
fn waits_for_stores(arch: &Arch, text: &str) -> bool {
    if arch.name.starts_with("gfx9") {
        waits_for_loads(text)
    } else {
        text == "s_waitcnt_vscnt null, 0x0"
            || ["s_wait_storecnt 0x0", "s_wait_storecnt_dscnt 0x0"].contains(&text)
    }
}

/// Whether `found` has the steps in order, and no other operation among them. Additional waits
/// between operations are harmless.
fn follows(arch: &Arch, found: &[String], steps: &[Step]) -> bool {
    let is_op = |text: &String| !text.starts_with("s_wait");
    let mut rest = found;
    let mut before_next: &[String] = &[];
    let mut looked = false;
    for step in steps {
        if !looked {
            let end = rest.iter().position(is_op).unwrap_or(rest.len());
            (before_next, rest) = rest.split_at(end);
            looked = true;
        }
        let waited = |waits: &dyn Fn(&str) -> bool| before_next.iter().any(|text| waits(text));
        let is_there = match step {
            Loads => waited(&waits_for_loads),
            Stores => waited(&|text| waits_for_stores(arch, text)),
            WriteBack => waited(&|text| waits_for_stores(arch, text)),
            Op(op) => {
                let Some((first, after)) = rest.split_first() else {
                    return false;
                };
                rest = after;
                looked = false;
                first == op
            }
        };
        if !is_there {
            return false;
        }
    }
    !rest.iter().any(is_op)
}

pub(super) fn primitives(arch: &Arch, functions: &[Function]) -> Vec<String> {
    let Some(family) = Family::of(arch) else {
        return vec![format!("{} is in no family here: add it", arch.name)];
    };
    let mut wrong = vec![];
    for (name, steps) in family.sequences() {
        check(functions, name, &mut wrong, |function| {
            let found = texts(function);
            if follows(arch, &found, &steps) {
                Ok(())
            } else {
                Err(format!("it is {found:?}, it must be {steps:?}"))
            }
        });
    }
    for (name, words) in [
        ("space_of", &["src_shared_base"][..]),
        ("space_of", &["src_private_base"]),
        ("pause_first", &["s_sleep", " 1"]),
        ("pause_late", &["s_sleep", " 16"]),
        ("first", &["v_readfirstlane_b32"]),
        ("lane", &["v_mbcnt_lo_u32_b32"]),
        ("active_lanes", family.exec()),
        ("ballot", &["v_cmp"]),
        ("warp_size", family.size_of_wave()),
    ] {
        check(functions, name, &mut wrong, |function| {
            expect_instruction(function, words)
        });
    }
    check(functions, "claim", &mut wrong, |function| {
        claims_together(family, function)
    });
    // A separate function if traps are not allowed in others.
    let trap = find(functions, "revoff_trap").ok_or("it is not there".to_owned());
    if let Err(said) = trap.and_then(|function| expect_instruction(function, &["s_trap", " 2"])) {
        wrong.push(format!("revoff_trap: {said}"));
    }
    wrong
}

/// A kernel's stores before a call must have left the caches when the call is published: no store
/// while a write-back is in progress.
///
/// Compare-and-swaps are left out. They hand over slots, of which only words are used, and those
/// are written through.
pub(super) fn hand_over(arch: &Arch, functions: &[Function]) -> Vec<String> {
    let mut wrong = vec![];
    for function in functions {
        let mut writing_back = None;
        for (line, text) in shared(Target::Amdgcn, function) {
            if text.starts_with("buffer_wbl2") || text.starts_with("global_wb ") {
                writing_back = Some(line);
            } else if waits_for_stores(arch, &text) || text.contains("_atomic") {
                writing_back = None;
            } else if let Some(since) = writing_back
                && text.contains("_store")
            {
                wrong.push(format!(
                    "{}, line {line}: `{text}` does not wait for the write-back in line {since}",
                    function.name
                ));
            }
        }
    }
    wrong
}

fn texts(function: &Function) -> Vec<String> {
    let found = shared(Target::Amdgcn, function).into_iter();
    found.map(|(_, text)| text).collect()
}
