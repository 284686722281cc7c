//! Arguments that another runtime maps.

use std::convert::Infallible;

use shared_abi::map_kind::MapKind;

use super::sim::mapper;
use crate::map::Arg;

fn arg(addr: u64, size: u64, kind: MapKind) -> Arg {
    Arg::new(addr, size, kind)
}

#[test]
fn what_another_runtime_would_believe_is_refused() {
    // 64 bytes that another runtime has mapped.
    let a = 1 << 20;
    let may_be_mapped = |addr: u64, size: u64| addr < a + 64 && addr.saturating_add(size) > a;
    let run = |args: &[Arg]| {
        let run = mapper().run_unmapped(args, &may_be_mapped, || Ok::<(), Infallible>(()));
        run.map_err(|error| error.to_string())
    };
    let good: [&[Arg]; 7] = [
        // libgomp has 8 bytes for it.
        &[arg(a, 8, MapKind::TO), arg(64, 0, MapKind::POINTER)],
        // Present data holds the host's own pointers.
        &[
            arg(a, 24, MapKind::TO_PSET),
            arg(a + 4, 12, MapKind::POINTER),
        ],
        &[
            arg(a, 2, MapKind::STRUCT),
            arg(a, 8, MapKind::TO),
            arg(a + 16, 8, MapKind::TO),
        ],
        &[arg(a, 8, MapKind::TO), arg(a + 8, 16, MapKind::ATTACH)],
        &[arg(16, 8, MapKind::TO), arg(8, 8, MapKind::ATTACH)],
        &[arg(16, 24, MapKind::TO_PSET), arg(16, 0, MapKind::POINTER)],
        &[arg(a, 8, MapKind::TO), arg(0, 8, MapKind::ATTACH)],
    ];
    for args in good {
        run(args).unwrap();
    }
    let bad: [(&[Arg], &str); 10] = [
        // The first member is one and a half times as long as both.
        (
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(a, 32, MapKind::TO),
                arg(a + 16, 8, MapKind::TO),
            ],
            "order",
        ),
        (
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(0, 8, MapKind::TO),
                arg(a, 8, MapKind::TO),
            ],
            "order",
        ),
        // A value has no bytes.
        (
            &[
                arg(64, 16, MapKind::FIRSTPRIVATE_INT),
                arg(60, 4, MapKind::ATTACH),
            ],
            "could be attached",
        ),
        (
            &[arg(16, 24, MapKind::TO_PSET), arg(20, 12, MapKind::POINTER)],
            "descriptor at",
        ),
        (
            &[arg(16, 24, MapKind::TO_PSET), arg(36, 20, MapKind::POINTER)],
            "descriptor at",
        ),
        (
            &[
                arg(a, 2, MapKind::STRUCT),
                arg(a + 16, 8, MapKind::TO),
                arg(a, 8, MapKind::TO),
            ],
            "order",
        ),
        (
            &[arg(a, 8, MapKind::TO), arg(a, 1 << 40, MapKind::ATTACH)],
            "no mapped data",
        ),
        (
            &[arg(16, 8, MapKind::TO), arg(16, 4, MapKind::POINTER)],
            "no mapped data",
        ),
        (
            &[
                arg(16, 24, MapKind::TO_PSET),
                arg(a, 8, MapKind::TO),
                arg(64, 8, MapKind::POINTER),
            ],
            "no mapped data",
        ),
        (
            &[arg(16, 8, MapKind::TO), arg(u64::MAX, 8, MapKind::ATTACH)],
            "no mapped data",
        ),
    ];
    for (args, reason) in bad {
        let error = run(args).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
}
