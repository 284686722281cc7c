//! GCC's layouts and values: those of libgomp 13 to 16 and of the parallel reverse-offload patch.
//! They belong to no version of ours; images that GCC built contain them. Frozen; see the head of
//! this test.

use shared_abi::gomp;
use shared_abi::icv::{self, OffloadIcvs};
use shared_abi::map_kind::{self, MapKind};
use shared_abi::wire::gcc_ring::{self, GccRing, GccRingSlot};
use shared_abi::wire::gcc_slot::GccSlot;
use shared_abi::wire::gcn_queue::{self, GcnCall, GcnMessage, GcnQueue};

use crate::table::{bytes, constants, count32, count64, counted, no_padding, types};

types! {
    OffloadIcvs as "revoff_offload_icvs", size 16, align 4 {
        device_num: i32 = 0,
        default_device: i32 = 4,
        nteams: i32 = 8,
        teams_thread_limit: i32 = 12,
    }
    MapKind as "revoff_map_kind", size 2, align 2 {}
    GccRingSlot as "revoff_gcc_ring_slot", size 56, align 8 {
        signal: u64 = 0,
        func: u64 = 8,
        mapnum: u64 = 16,
        addrs: u64 = 24,
        sizes: u64 = 32,
        kinds: u64 = 40,
        dev_num: i32 = 48,
        reserved: u32 = 52,
    }
    GccRing as "revoff_gcc_ring", size 57360, align 8 {
        next_slot: u32 = 0,
        consumed: u32 = 4,
        claimed: u32 = 8,
        reserved: u32 = 12,
        queue: [GccRingSlot; 1024] = 16,
    }
    GccSlot as "revoff_gcc_slot", size 48, align 8 {
        func: u64 = 0,
        mapnum: u64 = 8,
        addrs: u64 = 16,
        sizes: u64 = 24,
        kinds: u64 = 32,
        dev_num: i32 = 40,
        reserved: u32 = 44,
    }
    GcnMessage as "revoff_gcn_message", size 264, align 8 {
        written: u32 = 0,
        label: [u8; 128] = 4,
        kind: u32 = 132,
        value: [u64; 16] = 136,
    }
    GcnCall as "revoff_gcn_call", size 56, align 8 {
        func: u64 = 0,
        mapnum: u64 = 8,
        addrs: u64 = 16,
        sizes: u64 = 24,
        kinds: u64 = 32,
        dev_num: u64 = 40,
        signal: u64 = 48,
    }
    GcnQueue as "revoff_gcn_queue", size 270352, align 8 {
        return_value: i32 = 0,
        next_output: u32 = 4,
        queue: [GcnMessage; 1024] = 8,
        consumed: u32 = 270344,
        reserved: u32 = 270348,
    }
}
constants! {
    "GOMP_DEVICE_HOST_FALLBACK": gomp::GOMP_DEVICE_HOST_FALLBACK => -2,
    "GOMP_VERSION": gomp::GOMP_VERSION => 3,
    "GOMP_VERSION_NVIDIA_PTX": gomp::GOMP_VERSION_NVIDIA_PTX => 1,
    "GOMP_VERSION_GCN": gomp::GOMP_VERSION_GCN => 3,
    "REVOFF_GOMP_REV_OFFLOAD_VAR": gomp::REV_OFFLOAD_VAR => "__gomp_rev_offload_var",
    "REVOFF_GOMP_ADDITIONAL_ICVS": gomp::ADDITIONAL_ICVS => "__gomp_additional_icvs",
    "REVOFF_GOMP_INDIRECT_ADDR_MAP": gomp::INDIRECT_ADDR_MAP => "__gomp_indirect_addr_map",
    "REVOFF_GOMP_NVPTX_CLOCKTICK": gomp::NVPTX_CLOCKTICK => "__nvptx_clocktick",
    "REVOFF_ICV_DEFAULT_DEVICE_UNSET": icv::DEFAULT_DEVICE_UNSET => -2_147_483_648,
    "REVOFF_GCC_RING_SLOTS": gcc_ring::SLOTS => 1024,
    "REVOFF_GCN_QUEUE_SLOTS": gcn_queue::SLOTS => 1024,
    "REVOFF_GCN_QUEUE_TEXT": gcn_queue::TEXT => 128,
    "REVOFF_GCN_QUEUE_INTEGER": gcn_queue::INTEGER => 0,
    "REVOFF_GCN_QUEUE_DOUBLE": gcn_queue::DOUBLE => 1,
    "REVOFF_GCN_QUEUE_LINE": gcn_queue::LINE => 2,
    "REVOFF_GCN_QUEUE_RAW": gcn_queue::RAW => 3,
    "REVOFF_GCN_QUEUE_CALL": gcn_queue::CALL => 4,

    "REVOFF_MAP_ALLOC": MapKind::ALLOC.0 => 0x00,
    "REVOFF_MAP_TO": MapKind::TO.0 => 0x01,
    "REVOFF_MAP_FROM": MapKind::FROM.0 => 0x02,
    "REVOFF_MAP_TOFROM": MapKind::TOFROM.0 => 0x03,
    "REVOFF_MAP_POINTER": MapKind::POINTER.0 => 0x04,
    "REVOFF_MAP_TO_PSET": MapKind::TO_PSET.0 => 0x05,
    "REVOFF_MAP_FORCE_PRESENT": MapKind::FORCE_PRESENT.0 => 0x06,
    "REVOFF_MAP_DELETE": MapKind::DELETE.0 => 0x07,
    "REVOFF_MAP_FIRSTPRIVATE": MapKind::FIRSTPRIVATE.0 => 0x0c,
    "REVOFF_MAP_FIRSTPRIVATE_INT": MapKind::FIRSTPRIVATE_INT.0 => 0x0d,
    "REVOFF_MAP_ZERO_LEN_ARRAY_SECTION": MapKind::ZERO_LEN_ARRAY_SECTION.0 => 0x0f,
    "REVOFF_MAP_ALWAYS_TO": MapKind::ALWAYS_TO.0 => 0x11,
    "REVOFF_MAP_ALWAYS_FROM": MapKind::ALWAYS_FROM.0 => 0x12,
    "REVOFF_MAP_ALWAYS_TOFROM": MapKind::ALWAYS_TOFROM.0 => 0x13,
    "REVOFF_MAP_RELEASE": MapKind::RELEASE.0 => 0x17,
    "REVOFF_MAP_STRUCT": MapKind::STRUCT.0 => 0x1c,
    "REVOFF_MAP_ALWAYS_POINTER": MapKind::ALWAYS_POINTER.0 => 0x1d,
    "REVOFF_MAP_POINTER_TO_ZERO_LENGTH_ARRAY_SECTION": MapKind::POINTER_TO_ZERO_LENGTH_ARRAY_SECTION.0 => 0x1e,
    "REVOFF_MAP_DELETE_ZERO_LEN_ARRAY_SECTION": MapKind::DELETE_ZERO_LEN_ARRAY_SECTION.0 => 0x1f,
    "REVOFF_MAP_ATTACH": MapKind::ATTACH.0 => 0x50,
    "REVOFF_MAP_FORCE_ALLOC": MapKind::FORCE_ALLOC.0 => 0x80,
    "REVOFF_MAP_FORCE_TO": MapKind::FORCE_TO.0 => 0x81,
    "REVOFF_MAP_FORCE_FROM": MapKind::FORCE_FROM.0 => 0x82,
    "REVOFF_MAP_FORCE_TOFROM": MapKind::FORCE_TOFROM.0 => 0x83,
    "REVOFF_MAP_ALWAYS_PRESENT_TO": MapKind::ALWAYS_PRESENT_TO.0 => 0x95,
    "REVOFF_MAP_ALWAYS_PRESENT_FROM": MapKind::ALWAYS_PRESENT_FROM.0 => 0x96,
    "REVOFF_MAP_ALWAYS_PRESENT_TOFROM": MapKind::ALWAYS_PRESENT_TOFROM.0 => 0x97,
    "REVOFF_MAP_IMPLICIT_BITS": map_kind::IMPLICIT_BITS => 0x60,
}

no_padding! { OffloadIcvs GccSlot GccRingSlot GcnMessage GcnCall }

#[test]
fn bytes_of_offload_icvs() {
    assert_eq!(
        bytes(&OffloadIcvs {
            device_num: 0x6362_6160,
            default_device: 0x6766_6564,
            nteams: 0x6b6a_6968,
            teams_thread_limit: 0x6f6e_6d6c,
        }),
        [
            0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
            0x6e, 0x6f,
        ]
    );
}

#[test]
fn bytes_of_gcc_slot() {
    assert_eq!(
        bytes(&GccSlot {
            func: 0x403f_3e3d_3c3b_3a39,
            mapnum: 0x4847_4645_4443_4241,
            addrs: 0x504f_4e4d_4c4b_4a49,
            sizes: 0x5857_5655_5453_5251,
            kinds: 0x605f_5e5d_5c5b_5a59,
            dev_num: 0x6463_6261,
            reserved: 0x6867_6665,
        }),
        [
            0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46,
            0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54,
            0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f, 0x60, 0x61, 0x62,
            0x63, 0x64, 0x65, 0x66, 0x67, 0x68,
        ]
    );
}

#[test]
fn bytes_of_gcc_ring_slot() {
    assert_eq!(
        bytes(&GccRingSlot {
            signal: 0x4a49_4847_4645_4443,
            func: 0x5251_504f_4e4d_4c4b,
            mapnum: 0x5a59_5857_5655_5453,
            addrs: 0x6261_605f_5e5d_5c5b,
            sizes: 0x6a69_6867_6665_6463,
            kinds: 0x7271_706f_6e6d_6c6b,
            dev_num: 0x7675_7473,
            reserved: 0x7a79_7877,
        }),
        [
            0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50,
            0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e,
            0x5f, 0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c,
            0x6d, 0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73, 0x74, 0x75, 0x76, 0x77, 0x78, 0x79, 0x7a,
        ]
    );
}

#[test]
fn bytes_of_gcn_message() {
    let message = GcnMessage {
        written: count32(0),
        label: core::array::from_fn(|i| counted(256)[4 + i]),
        kind: count32(132),
        value: core::array::from_fn(|i| count64(136 + i * 8)),
    };
    assert_eq!(bytes(&message), counted(264));
}

#[test]
fn bytes_of_gcn_call() {
    let call = GcnCall {
        func: count64(0),
        mapnum: count64(8),
        addrs: count64(16),
        sizes: count64(24),
        kinds: count64(32),
        dev_num: count64(40),
        signal: count64(48),
    };
    assert_eq!(bytes(&call), counted(56));
}
