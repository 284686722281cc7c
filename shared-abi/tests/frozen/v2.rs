//! Version 2 of our own layouts: the `native` wire and the symbols of an image. Frozen; see the
//! head of this test.

use shared_abi::host_arch::{HostArch, HostWait, ThreadContext};
use shared_abi::image::{self, DeviceConfig, FunctionInfo, ImageInfo, KernelInfo, PanicRecord};
use shared_abi::status::Status;
use shared_abi::wire::bounce::{self, BounceHeader};
use shared_abi::wire::claims::{self, ClaimGroup, ClaimsHeader};
use shared_abi::wire::native::{self, MapEntry, RequestMeta, Summary};
use shared_abi::wire::{WakeWord, WireKind};
use shared_abi::{ABI_VERSION, gomp, print};

use crate::table::{bytes, constants, count32, counted, no_padding, types};

types! {
    ImageInfo as "revoff_image_info", size 16, align 8 {
        magic: u64 = 0,
        abi_version: u32 = 8,
        wires: u32 = 12,
    }
    DeviceConfig as "revoff_device_config", size 48, align 8 {
        wire_kind: u32 = 0,
        slots: u32 = 4,
        wire: u64 = 8,
        claims: u64 = 16,
        bounce: u64 = 24,
        wake_word: u64 = 32,
        bounce_blocks: u32 = 40,
        lanes: u32 = 44,
    }
    PanicRecord as "revoff_panic_record", size 272, align 4 {
        state: u32 = 0,
        line: u32 = 4,
        column: u32 = 8,
        file_len: u32 = 12,
        file: [u8; 256] = 16,
    }
    FunctionInfo as "revoff_function_info", size 8, align 8 {
        signature: u64 = 0,
    }
    KernelInfo as "revoff_kernel_info", size 16, align 8 {
        params: u32 = 0,
        bytes: u32 = 4,
        signature: u64 = 8,
    }
    ThreadContext as "revoff_thread_context", size 40, align 8 {
        team: u32 = 0,
        teams: u32 = 4,
        thread: u32 = 8,
        threads: u32 = 12,
        launch: u32 = 16,
        reserved: u32 = 20,
        stack_low: u64 = 24,
        stack_high: u64 = 32,
    }
    HostArch as "revoff_host_arch", size 40, align 8 {
        context: unsafe extern "C" fn() -> *const ThreadContext = 0,
        pause: unsafe extern "C" fn(attempt: u32) = 8,
        wake_host: unsafe extern "C" fn() = 16,
        clock: unsafe extern "C" fn() -> u64 = 24,
        trap: unsafe extern "C" fn(message: *const u8, len: u64) -> ! = 32,
    }
    HostWait as "revoff_host_wait", size 16, align 8 {
        wait: unsafe extern "C" fn(
            word: *const u32,
            expected: u32,
            attempt: u32,
            nanoseconds: u64,
        ) -> u32 = 0,
        wake: unsafe extern "C" fn(word: *const u32, count: u32) -> u32 = 8,
    }
    Status as "revoff_status", size 4, align 4 {}
    BounceHeader as "revoff_bounce_header", size 64, align 64 {
        signal: u32 = 0,
        launch: u32 = 4,
        reserved: [u32; 14] = 8,
    }
    ClaimsHeader as "revoff_claims_header", size 128, align 128 {
        slot_lock: u32 = 0,
        reserved: [u32; 31] = 4,
    }
    ClaimGroup as "revoff_claim_group", size 256, align 128 {
        taken: u32 = 0,
        reserved: [u32; 31] = 4,
        seqs: [u32; 32] = 128,
    }
    RequestMeta as "revoff_native_request_meta", size 4, align 4 {}
    Summary as "revoff_native_summary", size 4, align 4 {}
    MapEntry as "revoff_native_map_entry", size 24, align 8 {
        addr: u64 = 0,
        size: u64 = 8,
        kind: u16 = 16,
        place: u16 = 18,
        offset: u32 = 20,
    }
    WireKind as "revoff_wire_kind", size 4, align 4 {}
    WakeWord as "revoff_wake_word", size 128, align 128 {
        sleeping: u32 = 0,
        reserved: [u32; 31] = 4,
    }
}
constants! {
    "REVOFF_ABI_VERSION": ABI_VERSION => 2,
    "REVOFF_FLAG_STATUS": gomp::REVOFF_FLAG_STATUS => 0x8000_0000,
    "REVOFF_FLAG_ARGS_ONLY": gomp::REVOFF_FLAG_ARGS_ONLY => 0x4000_0000,

    "REVOFF_IMAGE_INFO": image::IMAGE_INFO => "__revoff_image",
    "REVOFF_IMAGE_RUNTIME": image::RUNTIME => "__revoff_runtime",
    "REVOFF_IMAGE_HOST_ARCH": image::HOST_ARCH => "__revoff_host_arch",
    "REVOFF_IMAGE_HOST_WAIT": image::HOST_WAIT => "__revoff_host_wait",
    "REVOFF_IMAGE_PANIC": image::PANIC => "__revoff_panic",
    "REVOFF_IMAGE_PANIC_ASSERTION": image::PANIC_ASSERTION => "panic",
    "REVOFF_IMAGE_PANIC_RECORDED": image::PANIC_RECORDED => 1,
    "REVOFF_IMAGE_PANIC_FILE": image::PANIC_FILE => 256,
    "REVOFF_IMAGE_FUNCTION_PREFIX": image::FUNCTION_PREFIX => "__revoff_fn_",
    "REVOFF_PRINT_FUNCTION": print::FUNCTION => "revoff_print",
    "REVOFF_PRINT_SYMBOL": print::SYMBOL => "__revoff_fn_revoff_print",
    "REVOFF_IMAGE_KERNEL_PREFIX": image::KERNEL_PREFIX => "__revoff_kernel_",
    "REVOFF_IMAGE_MAGIC": image::IMAGE_MAGIC => 0x0000_6666_6f76_6572,

    "REVOFF_STATUS_NONE": Status::NONE.0 => 0,
    "REVOFF_STATUS_DONE": Status::DONE.0 => 1,
    "REVOFF_STATUS_NO_SUCH_FUNCTION": Status::NO_SUCH_FUNCTION.0 => 2,
    "REVOFF_STATUS_REFUSED_MAPPING": Status::REFUSED_MAPPING.0 => 3,
    "REVOFF_STATUS_FUNCTION_FAILED": Status::FUNCTION_FAILED.0 => 4,
    "REVOFF_STATUS_SHUTTING_DOWN": Status::SHUTTING_DOWN.0 => 5,
    "REVOFF_STATUS_NOT_OFFLOADED": Status::NOT_OFFLOADED.0 => 6,
    "REVOFF_STATUS_ABORTED": Status::ABORTED.0 => 7,
    "REVOFF_STATUS_TOO_MANY": Status::TOO_MANY.0 => 8,

    "REVOFF_WIRE_NONE": WireKind::NONE.0 => 0,
    "REVOFF_WIRE_GCC_SLOT": WireKind::GCC_SLOT.0 => 1,
    "REVOFF_WIRE_GCC_RING": WireKind::GCC_RING.0 => 2,
    "REVOFF_WIRE_NATIVE": WireKind::NATIVE.0 => 3,
    "REVOFF_WIRE_GCN_QUEUE": WireKind::GCN_QUEUE.0 => 4,

    "REVOFF_BOUNCE_BLOCK": bounce::BLOCK => 16384,
    "REVOFF_BOUNCE_MAX_EXTENT": bounce::MAX_EXTENT => 32,
    "REVOFF_CLAIMS_GROUP": claims::GROUP => 32,
    "REVOFF_NATIVE_ROW": native::ROW => 16,
    "REVOFF_NATIVE_ROW_DATA": native::ROW_DATA => 8,
    "REVOFF_NATIVE_MAX_ROWS": native::MAX_ROWS => 64,
    "REVOFF_NATIVE_MAX_ROWS_TOGETHER": native::MAX_ROWS_TOGETHER => 32,
    "REVOFF_NATIVE_MAX_LANES": native::MAX_LANES => 64,
    "REVOFF_NATIVE_PROGRESS_BYTES": native::PROGRESS_BYTES => 128,
    "REVOFF_NATIVE_MAX_MARSHALLED": native::MAX_MARSHALLED => 64,
    "REVOFF_NATIVE_WRITTEN_BITS": native::WRITTEN_BITS => 32,
    "REVOFF_PRINT_TEXT": print::TEXT => 0,
    "REVOFF_PRINT_INTEGER": print::INTEGER => 1,
    "REVOFF_PRINT_DOUBLE": print::DOUBLE => 2,
    "REVOFF_PRINT_PIECE": print::PIECE => 3,
    "REVOFF_PRINT_STDERR": print::STDERR => 256,
    "REVOFF_NATIVE_MAX_ARGS": native::MAX_ARGS => 0x7_ffff,
    "REVOFF_NATIVE_ENTRIES_IN_SLOT": native::ENTRIES_IN_SLOT => 16,
    "REVOFF_NATIVE_HEADER_ROWS": native::HEADER_ROWS => 2,
    "REVOFF_NATIVE_ENTRY_ROWS": native::ENTRY_ROWS => 3,
    "REVOFF_NATIVE_META_ROWS": native::META_ROWS => 6,
    "REVOFF_NATIVE_META_EXTENT": native::META_EXTENT => 0x1000,
    "REVOFF_NATIVE_META_MAPNUM": native::META_MAPNUM => 13,
    "REVOFF_NATIVE_MAX_LANES_WITH_SUMMARY": native::MAX_LANES_WITH_SUMMARY => 32,
    "REVOFF_SUMMARY_NONE": Summary::NONE.0 => 0,
    "REVOFF_NATIVE_SUMMARY_STATUS": native::SUMMARY_STATUS => 8,
    "REVOFF_NATIVE_SUMMARY_WRITTEN": native::SUMMARY_WRITTEN => 16,
    "REVOFF_NATIVE_PLACE_DEVICE": native::PLACE_DEVICE => 0,
    "REVOFF_NATIVE_PLACE_SLOT": native::PLACE_SLOT => 1,
    "REVOFF_NATIVE_PLACE_BOUNCE": native::PLACE_BOUNCE => 2,
}

no_padding! {
    ImageInfo DeviceConfig FunctionInfo KernelInfo ThreadContext MapEntry WakeWord BounceHeader
    ClaimsHeader ClaimGroup
}

#[test]
fn wires_in_an_image() {
    assert_eq!(WireKind::GCC_SLOT.bit(), 0b0010);
    assert_eq!(WireKind::GCC_RING.bit(), 0b0100);
    assert_eq!(WireKind::NATIVE.bit(), 0b1000);
    assert_eq!(WireKind::GCN_QUEUE.bit(), 0b1_0000);
    assert_eq!(WireKind::ALL.map(|kind| kind.0), [3, 2, 4, 1]);
}

#[test]
fn offsets_in_a_native_wire() {
    // (lanes, bytes of an area, of a slot, of 1024 slots)
    for (lanes, area, slot, size) in [
        (1, 1024, 2176, 2_228_224),
        (2, 1024, 2176, 2_228_224),
        (3, 1536, 3200, 3_276_800),
        (4, 2048, 4224, 4_325_376),
        (32, 16384, 32896, 33_685_504),
        (64, 32768, 65664, 67_239_936),
    ] {
        assert_eq!(native::area_bytes(lanes), area, "{lanes} lanes");
        assert_eq!(native::replies_offset(lanes), area, "{lanes} lanes");
        assert_eq!(native::progress_offset(lanes), 2 * area, "{lanes} lanes");
        assert_eq!(native::slot_bytes(lanes), slot, "{lanes} lanes");
        assert_eq!(native::slot_offset(lanes, 0), 0, "{lanes} lanes");
        assert_eq!(native::slot_offset(lanes, 1), slot, "{lanes} lanes");
        assert_eq!(native::size(1024, lanes), size, "{lanes} lanes");
    }
    // (row, rank, lanes that call together)
    for ((row, rank, count), offset) in [
        ((0, 0, 1), 0),
        ((1, 0, 1), 16),
        ((63, 0, 1), 1008),
        ((0, 31, 32), 496),
        ((1, 0, 32), 512),
        ((15, 63, 64), 16368),
        ((2, 1, 3), 112),
    ] {
        assert_eq!(native::row_offset(row, rank, count), offset);
    }
    // (lanes, lanes that call together)
    for ((lanes, count), rows) in [
        ((1, 1), 64),
        ((32, 1), 1024),
        ((32, 3), 341),
        ((32, 32), 32),
        ((64, 64), 32),
    ] {
        assert_eq!(native::lane_rows(lanes, count), rows);
    }
    let claims = [0, 1, 31, 32, 33, 1023].map(native::claim_of);
    assert_eq!(claims, [(0, 0), (0, 1), (0, 31), (1, 0), (1, 1), (31, 31)]);
}

#[test]
fn rows_of_arguments() {
    assert!(native::is_list_in_slot(16) && !native::is_list_in_slot(17));
    assert_eq!([0, 1, 32, 33].map(native::reply_payload_row), [1, 1, 1, 2]);
}

#[test]
fn sequence_numbers() {
    assert_eq!([0, 1, 7, u32::MAX].map(native::next_seq), [1, 2, 8, 1]);
    assert!([1, u32::MAX].into_iter().all(native::is_at_wrap));
    assert!(![2, u32::MAX - 1].into_iter().any(native::is_at_wrap));
}

#[test]
fn cells() {
    assert_eq!(
        native::cell(0x0403_0201, 0x0807_0605),
        0x0807_0605_0403_0201
    );
    assert_eq!(
        native::cell_data(0x0807_0605_0403_0201, 0x0807_0605),
        Some(0x0403_0201)
    );
    assert_eq!(native::cell_data(0x0807_0605_0403_0201, 0x0807_0604), None);
}

#[test]
fn shapes_of_requests() {
    for (meta, word) in [
        (RequestMeta::new(1, 1, false, 0), 0),
        (RequestMeta::new(1, 2, false, 0), 0x40),
        (RequestMeta::new(32, 6, false, 1), 0x215f),
        (RequestMeta::new(1, 3, true, 17), 0x2_3080),
        (RequestMeta::new(64, 64, true, 0x7_ffff), 0xffff_ffff),
    ] {
        assert_eq!(meta.0, word);
        let (lanes, rows) = (meta.lanes(), meta.rows());
        let again = RequestMeta::new(lanes, rows, meta.has_extent(), meta.mapnum());
        assert_eq!(again, meta);
    }
}

#[test]
fn summaries() {
    for (count, status, written, word) in [
        (1, Status::DONE, 0, 0x101),
        (32, Status::DONE, 1, 0x1_0120),
        (7, Status::FUNCTION_FAILED, 0x8000, 0x8000_0407),
    ] {
        let summary = Summary::new(count, status, written);
        assert_eq!(summary.0, word);
        assert_eq!((summary.status(), summary.written()), (status, written));
        assert!(summary.applies_to(count) && !summary.applies_to(count - 1));
    }
    assert_eq!(Summary::NONE.0, 0);
    assert_eq!(Summary::new(1, Status::DONE, 1 << 16), Summary::NONE);
}

/// An area of a slot with a row of data for each `(row, rank)`, of `count` lanes.
fn area(count: u32, seq: u32, rows: &[(u32, u32, [u32; 2])]) -> Vec<u8> {
    let mut area = vec![0; rows.len() * native::ROW];
    for &(row, rank, data) in rows {
        let at = native::row_offset(row, rank, count);
        for (i, data) in data.into_iter().enumerate() {
            let at = at + i * 8;
            area[at..at + 8].copy_from_slice(&native::cell(data, seq).to_le_bytes());
        }
    }
    area
}

/// A call of function `0x1000_0020` with a value of 8 bytes, which the host changes.
#[test]
fn bytes_of_a_request_and_its_reply() {
    let meta = RequestMeta::new(1, 6, false, 1);
    let request = area(
        1,
        9,
        &[
            (0, 0, [meta.0, 3]),
            (1, 0, [0x1000_0020, 0]),
            (2, 0, [0x7fff_0008, 0x55]),
            (3, 0, [8, 0]),
            (4, 0, [0x0001_0003, 0]),
            (5, 0, [0x4433_2211, 0x8877_6655]),
        ],
    );
    assert_eq!(
        request,
        [
            // meta: 1 lane, 6 rows, 1 argument; launch 3
            0x40, 0x21, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 9, 0, 0, 0, //
            // function
            0x20, 0, 0, 0x10, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, //
            // address
            8, 0, 0xff, 0x7f, 9, 0, 0, 0, 0x55, 0, 0, 0, 9, 0, 0, 0, //
            // size
            8, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, //
            // kind `tofrom`, in the slot
            3, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, //
            // the value
            0x11, 0x22, 0x33, 0x44, 9, 0, 0, 0, 0x55, 0x66, 0x77, 0x88, 9, 0, 0, 0,
        ]
    );

    let reply = area(
        1,
        9,
        &[
            (0, 0, [Status::DONE.0, 1]),
            (1, 0, [0x0403_0201, 0x0807_0605]),
        ],
    );
    assert_eq!(
        reply,
        [
            // done; marshalled range 0 has been written
            1, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, //
            // the new value
            1, 2, 3, 4, 9, 0, 0, 0, 5, 6, 7, 8, 9, 0, 0, 0,
        ]
    );
}

/// The rows of lanes that call together are interleaved.
#[test]
fn bytes_of_a_request_by_two_lanes() {
    let meta = RequestMeta::new(2, 2, false, 0);
    let request = area(
        2,
        0x0403_0201,
        &[
            (0, 0, [meta.0, 0]),
            (1, 0, [0xa0, 0xa1]),
            (0, 1, [meta.0, 0]),
            (1, 1, [0xb0, 0xb1]),
        ],
    );
    assert_eq!(
        request,
        [
            0x41, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 4, // row 0 of rank 0
            0x41, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 1, 2, 3, 4, // row 0 of rank 1
            0xa0, 0, 0, 0, 1, 2, 3, 4, 0xa1, 0, 0, 0, 1, 2, 3, 4, // row 1 of rank 0
            0xb0, 0, 0, 0, 1, 2, 3, 4, 0xb1, 0, 0, 0, 1, 2, 3, 4, // row 1 of rank 1
        ]
    );
}

#[test]
fn offsets_in_the_claims() {
    assert_eq!(
        [1, 2, 32, 33, 64, 1024].map(claims::groups),
        [1, 1, 1, 2, 2, 32]
    );
    assert_eq!(
        [0, 1, 2, 31].map(claims::group_offset),
        [128, 384, 640, 8064]
    );

    // (slots, word 0 of the bounce blocks, word 1)
    for (slots, word0, word1) in [
        (1, 384, 388),
        (32, 384, 388),
        (33, 640, 644),
        (64, 640, 644),
        (1024, 8320, 8324),
    ] {
        assert_eq!(claims::bounce_offset(slots, 0), word0, "{slots} slots");
        assert_eq!(claims::bounce_offset(slots, 1), word1, "{slots} slots");
    }
    // (slots, blocks, size)
    for (slots, blocks, size) in [
        (1, 0, 384),
        (1, 32, 388),
        (32, 33, 392),
        (64, 256, 672),
        (1024, 1024, 8448),
    ] {
        assert_eq!(
            claims::size(slots, blocks),
            size,
            "{slots} slots, {blocks} blocks"
        );
    }
}

#[test]
fn bytes_of_wake_word() {
    let wake_word = WakeWord {
        sleeping: 0x0403_0201,
        reserved: core::array::from_fn(|i| count32(4 + 4 * i)),
    };
    assert_eq!(bytes(&wake_word), counted(128));
}

#[test]
fn bytes_of_bounce_header() {
    let header = BounceHeader {
        signal: 0x0403_0201,
        launch: 0x0807_0605,
        reserved: core::array::from_fn(|i| count32(8 + 4 * i)),
    };
    assert_eq!(bytes(&header), counted(64));
}

#[test]
fn bytes_of_claims_header() {
    let header = ClaimsHeader {
        slot_lock: 0x0403_0201,
        reserved: core::array::from_fn(|i| count32(4 + 4 * i)),
    };
    assert_eq!(bytes(&header), counted(128));
}

#[test]
fn bytes_of_claim_group() {
    let group = ClaimGroup {
        taken: 0x0403_0201,
        reserved: core::array::from_fn(|i| count32(4 + 4 * i)),
        seqs: core::array::from_fn(|i| count32(128 + 4 * i)),
    };
    assert_eq!(bytes(&group), counted(256));
}

#[test]
fn bytes_of_a_real_image_info() {
    let info = ImageInfo {
        magic: image::IMAGE_MAGIC,
        abi_version: 2,
        wires: WireKind::NATIVE.bit(),
    };
    assert_eq!(bytes(&info), b"revoff\0\0\x02\0\0\0\x08\0\0\0");
}

#[test]
fn bytes_of_image_info() {
    assert_eq!(
        bytes(&ImageInfo {
            magic: 0x3a39_3837_3635_3433,
            abi_version: 0x3e3d_3c3b,
            wires: 0x4241_403f,
        }),
        [
            0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a, 0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x40,
            0x41, 0x42,
        ]
    );
}

#[test]
fn bytes_of_device_config() {
    assert_eq!(
        bytes(&DeviceConfig {
            wire_kind: 0x4746_4544,
            slots: 0x4b4a_4948,
            wire: 0x5352_5150_4f4e_4d4c,
            claims: 0x5b5a_5958_5756_5554,
            bounce: 0x6362_6160_5f5e_5d5c,
            wake_word: 0x6b6a_6968_6766_6564,
            bounce_blocks: 0x6f6e_6d6c,
            lanes: 0x7372_7170,
        }),
        [
            0x44, 0x45, 0x46, 0x47, 0x48, 0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51,
            0x52, 0x53, 0x54, 0x55, 0x56, 0x57, 0x58, 0x59, 0x5a, 0x5b, 0x5c, 0x5d, 0x5e, 0x5f,
            0x60, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0x67, 0x68, 0x69, 0x6a, 0x6b, 0x6c, 0x6d,
            0x6e, 0x6f, 0x70, 0x71, 0x72, 0x73,
        ]
    );
}

#[test]
fn bytes_of_function_info() {
    assert_eq!(
        bytes(&FunctionInfo {
            signature: 0x7170_6f6e_6d6c_6b6a,
        }),
        [0x6a, 0x6b, 0x6c, 0x6d, 0x6e, 0x6f, 0x70, 0x71,]
    );
}

#[test]
fn bytes_of_kernel_info() {
    assert_eq!(
        bytes(&KernelInfo {
            params: 0x2423_2221,
            bytes: 0x2827_2625,
            signature: 0x302f_2e2d_2c2b_2a29,
        }),
        [
            0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28, 0x29, 0x2a, 0x2b, 0x2c, 0x2d, 0x2e,
            0x2f, 0x30,
        ]
    );
}

#[test]
fn bytes_of_thread_context() {
    assert_eq!(
        bytes(&ThreadContext {
            team: 0x302f_2e2d,
            teams: 0x3433_3231,
            thread: 0x3837_3635,
            threads: 0x3c3b_3a39,
            launch: 0x403f_3e3d,
            reserved: 0x4443_4241,
            stack_low: 0x4c4b_4a49_4847_4645,
            stack_high: 0x5453_5251_504f_4e4d,
        }),
        [
            0x2d, 0x2e, 0x2f, 0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3a,
            0x3b, 0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
            0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53, 0x54,
        ]
    );
}

#[test]
fn bytes_of_map_entry() {
    assert_eq!(
        bytes(&MapEntry {
            addr: 0x4342_4140_3f3e_3d3c,
            size: 0x4b4a_4948_4746_4544,
            kind: 0x4d4c,
            place: 0x4f4e,
            offset: 0x5352_5150,
        }),
        [
            0x3c, 0x3d, 0x3e, 0x3f, 0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48, 0x49,
            0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f, 0x50, 0x51, 0x52, 0x53,
        ]
    );
}
