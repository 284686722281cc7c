//! Accesses to memory by lanes.

use super::super::access::{self, Access, Action, CacheEffects};
use super::super::operand::Destination;
use super::super::step::Detail;
use super::super::{buffer, flat, lds};
use super::{Builder, Result};
use crate::alu::Type;
use crate::inst::{Modifiers, Segment};
use crate::isa::{Flag, Kind, LdsOp};

impl Builder<'_> {
    pub(super) fn lds(&mut self, op: LdsOp) -> Result<()> {
        let Modifiers::Lds(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        if modifiers.gds {
            return Err(self.unsupported());
        }
        let row = op.row();
        let name = row.name;
        let is_double = name.contains("_2addr_");
        // Names of accesses with two addresses end with the element.
        let plain = name.replace("_2addr", "").replace("_stride64", "");
        let action = access::action(&plain, false).ok_or_else(|| self.unsupported())?;
        let Some(Kind::Addr) = row.src.first() else {
            return Err(self.unsupported());
        };
        let scale = match action {
            _ if !is_double => 1,
            action if name.contains("stride64") => 64 * i64::from(action.bytes()),
            action => action.bytes().into(),
        };
        let offset = i64::from(modifiers.offset);
        let offsets = match is_double {
            true => [(offset & 0xff) * scale, (offset >> 8) * scale],
            // No second offset.
            false => [offset, -1],
        };
        let [address, data @ ..] = self.sources() else {
            return Err(self.unsupported());
        };
        let mut data = data.to_vec();
        // `ds_cmpst_*` has the expected value first.
        if name.starts_with("ds_cmpst_") {
            data.reverse();
        }
        self.step.src[0] = self.source(address, Type::U32)?;
        let rows = data.iter().map(|operand| match self.destination(operand) {
            Destination::Vector(row) => row,
            Destination::Scalar(_) | Destination::None => 0,
        });
        let rows: Vec<u16> = rows.collect();
        self.access(Access {
            action,
            data: rows.first().copied().unwrap_or(0),
            second: rows.get(1).copied().unwrap_or(0),
            offsets,
            segment: Segment::Flat,
            hits_caches: false,
            scope: None,
            idxen: false,
            offen: false,
        });
        if !row.dst.is_empty() {
            self.step.dst = self.destination(&self.inst.operands[0]);
        }
        self.step.run = lds::run;
        Ok(())
    }

    pub(super) fn access(&mut self, access: Access) {
        self.step.detail = Detail::Access(Box::new(access));
    }

    pub(super) fn flat(&mut self) -> Result<()> {
        let Modifiers::Memory(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let row = self.row();
        self.step.run = flat::run;
        if row.has(Flag::bare) {
            self.access(caches_access(self.cache_effects(modifiers.cache)));
            return Ok(());
        }
        if modifiers.lds || row.has(Flag::lds) || row.name.contains("addtid") {
            return Err(self.unsupported());
        }
        // Atomic operations that do not return the old value have no destination.
        let address_at = self
            .inst
            .operands
            .len()
            .checked_sub(match modifiers.segment {
                Segment::Flat => 1 + row.src.len(),
                Segment::Global | Segment::Scratch => 2 + row.src.len(),
            });
        let address_at = address_at.ok_or_else(|| self.unsupported())?;
        let returns = address_at > 0;
        let action = access::action(row.name, returns).ok_or_else(|| self.unsupported())?;
        if returns {
            self.step.dst = self.destination(&self.inst.operands[0]);
        }
        self.step.src[0] = self.source(&self.inst.operands[address_at], Type::U64)?;
        if modifiers.segment != Segment::Flat
            && let Some(scalar) = self.inst.operands.last()
        {
            self.step.src[1] = self.source(scalar, Type::U64)?;
        }
        let data = match (row.src.is_empty(), self.inst.operands.get(address_at + 1)) {
            (false, Some(operand)) => match self.destination(operand) {
                Destination::Vector(row) => row,
                Destination::Scalar(_) | Destination::None => 0,
            },
            _ => 0,
        };
        self.access(Access {
            action,
            data,
            second: data + words_of(action),
            offsets: [modifiers.offset.into(), -1],
            segment: modifiers.segment,
            hits_caches: self.hits_caches(modifiers.cache),
            scope: self.scope(action, modifiers.cache),
            idxen: false,
            offen: false,
        });
        Ok(())
    }

    pub(super) fn buffer(&mut self) -> Result<()> {
        let Modifiers::Buffer(modifiers) = self.inst.modifiers else {
            return Err(self.unsupported());
        };
        let row = self.row();
        self.step.run = buffer::run;
        if row.has(Flag::bare) {
            self.step.run = flat::run;
            self.access(caches_access(self.cache_effects(modifiers.cache)));
            return Ok(());
        }
        if modifiers.lds || modifiers.tfe || modifiers.format.is_some() {
            return Err(self.unsupported());
        }
        let [data, address, resource, offset] = self.inst.operands.as_slice() else {
            return Err(self.unsupported());
        };
        // For atomic operations, a bit of the policy says whether they return the old value.
        let returns = row.has(Flag::atomic) && returns_old(modifiers.cache);
        let action = access::action(row.name, returns).ok_or_else(|| self.unsupported())?;
        self.step.src[0] = self.source(address, Type::U64)?;
        self.step.src[1] = self.source(resource, Type::U64)?;
        self.step.src[2] = self.source(offset, Type::U32)?;
        let target = self.destination(data);
        if matches!(action, Action::Load(_) | Action::Atomic(_, _, true)) {
            self.step.dst = target;
        }
        let data = match target {
            Destination::Vector(row) => row,
            Destination::Scalar(_) | Destination::None => 0,
        };
        self.access(Access {
            action,
            data,
            second: data + words_of(action),
            offsets: [modifiers.offset.into(), -1],
            segment: Segment::Flat,
            hits_caches: self.hits_caches(modifiers.cache),
            scope: self.scope(action, modifiers.cache),
            idxen: modifiers.idxen,
            offen: modifiers.offen,
        });
        Ok(())
    }
}

fn caches_access(effects: CacheEffects) -> Access {
    Access {
        action: Action::Caches(effects),
        data: 0,
        second: 0,
        offsets: [0, -1],
        segment: Segment::Global,
        hits_caches: false,
        scope: None,
        idxen: false,
        offen: false,
    }
}

fn words_of(action: Action) -> u16 {
    action.bytes().div_ceil(4) as u16
}

fn returns_old(cache: crate::inst::CachePolicy) -> bool {
    use crate::inst::CachePolicy;
    match cache {
        CachePolicy::Bits { glc, .. } => glc,
        CachePolicy::Hint { temporal, .. } => temporal & 1 != 0,
    }
}
