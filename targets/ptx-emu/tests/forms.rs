//! Syntax that only GCC writes, tested without GCC.

use std::time::{Duration, Instant};

use ptx_emu::{Grid, Machine, Options, Part};

/// Runs the kernel `main` of `body` in one warp, with lanes in lock-step and without. Returns what
/// each lane stored at `%to`.
fn run(functions: &str, body: &str) -> [Vec<u64>; 2] {
    let text = format!(
        ".version 6.0\n.target sm_35\n.address_size 64\n{functions}
        .visible .entry main (.param .u64 %out)
        {{
            .reg .u64 %to;
            .reg .u32 %lane;
            ld.param.u64 %to,[%out];
            mov.u32 %lane,%laneid;
            mad.wide.u32 %to,%lane,8,%to;
            {body}
            ret;
        }}"
    );
    [60, 90].map(|sm| {
        let machine = Machine::new(Options {
            sm,
            patience: Duration::from_secs(1),
            ..Options::default()
        });
        let machine = machine.expect("a device");
        let part = Part {
            name: "text",
            text: &text,
        };
        let module = machine
            .load(&[part])
            .unwrap_or_else(|error| panic!("{error}"));
        let out = machine.memory().alloc(32 * 8).expect("room");
        let grid = Grid {
            grid: [1; 3],
            block: [32, 1, 1],
            shared: 0,
        };
        let kernel = module.kernel("main").expect("it is there");
        let params = [out.to_le_bytes().to_vec()];
        let running = machine
            .launch(&module, kernel, grid, &params, Box::new(|_| {}))
            .expect("a launch");
        let until = Instant::now() + Duration::from_secs(30);
        let ended = running.wait(Some(until)).expect("an end");
        ended.unwrap_or_else(|fault| panic!("sm_{sm}: {fault}"));
        let values = machine.memory().host(out, 32 * 8).expect("allocated");
        // SAFETY: the device memory there holds 32 numbers, `host` says so, it is aligned
        // to more than they need, and no kernel runs that would change them.
        unsafe { std::slice::from_raw_parts(values.cast::<u64>().as_ptr(), 32) }.to_vec()
    })
}

#[track_caller]
fn check(functions: &str, body: &str, wanted: impl Fn(u64) -> u64) {
    let wanted: Vec<_> = (0..32).map(wanted).collect();
    let [lock_step, independent] = run(functions, body);
    assert_eq!(lock_step, wanted, "in lock-step");
    assert_eq!(independent, wanted, "independent");
}

const ADD: &str = ".func (.param .u64 %sum) add (.param .u64 %a, .param .u64 %b)
    {
        .reg .u64 %x, %y;
        ld.param.u64 %x,[%a];
        ld.param.u64 %y,[%b];
        add.u64 %x,%x,%y;
        st.param.u64 [%sum],%x;
        ret;
    }
    .func (.param .u64 %difference) subtract (.param .u64 %a, .param .u64 %b)
    {
        .reg .u64 %x, %y;
        ld.param.u64 %x,[%a];
        ld.param.u64 %y,[%b];
        sub.u64 %x,%x,%y;
        st.param.u64 [%difference],%x;
        ret;
    }";

#[test]
fn parameters_have_numbers() {
    let body = ".reg .u64 %r;
        cvt.u64.u32 %r,%lane;
        {
            .param .u64 %P<2>;
            .param .u64 %back;
            st.param.u64 [%P0],%r;
            st.param.u64 [%P1],7;
            call.uni (%back),add,(%P0,%P1);
            ld.param.u64 %r,[%back];
        }
        st.u64 [%to],%r;";
    check(ADD, body, |lane| lane + 7);
}

#[test]
fn the_result_of_a_comparison_has_its_type_first() {
    let body = ".reg .u32 %r;
        .reg .u64 %wide;
        set.u32.ge.s32 %r,%lane,5;
        cvt.u64.u32 %wide,%r;
        st.u64 [%to],%wide;";
    check("", body, |lane| if lane >= 5 { 0xffff_ffff } else { 0 });
}

#[test]
fn a_vector_is_one_value() {
    let body = ".reg .v2 .u32 %v;
        .reg .u64 %wide;
        mov.v2.u32 %v,{ 0,9 };
        mov.u32 %v.x,%lane;
        mov.b64 %wide,%v;
        add.u64 %wide,%wide,0x300000000;
        mov.b64 %v,%wide;
        add.u32 %v.x,%v.x,%v.y;
        cvt.u64.u32 %wide,%v.x;
        st.u64 [%to],%wide;";
    check("", body, |lane| lane + 12);
}

#[test]
fn lanes_call_different_functions() {
    let body = ".reg .u64 %what, %one, %r;
        .reg .u32 %odd;
        .reg .pred %is_odd;
        and.b32 %odd,%lane,1;
        setp.ne.u32 %is_odd,%odd,0;
        mov.u64 %what,add;
        mov.u64 %one,subtract;
        selp.u64 %what,%one,%what,%is_odd;
        cvt.u64.u32 %r,%lane;
        {
            .param .u64 %back;
            .param .u64 %a;
            .param .u64 %b;
            prototype: .callprototype (.param .u64 _) _ (.param .u64 _, .param .u64 _);
            st.param.u64 [%a],100;
            st.param.u64 [%b],%r;
            call (%back),%what,(%a,%b),prototype;
            ld.param.u64 %r,[%back];
        }
        bar.warp.sync 0xffffffff;
        st.u64 [%to],%r;";
    check(ADD, body, |lane| {
        if lane % 2 == 0 {
            100 + lane
        } else {
            100 - lane
        }
    });
}

#[test]
fn a_kernel_says_how_large_its_blocks_are() {
    let machine = Machine::new(Options::default()).expect("a device");
    let text = ".version 8.0\n.target sm_60
        .entry exact () .reqntid 8, 4 { ret; }
        .entry bounded () .maxntid 8, 4, 1 .minnctapersm 2 { ret; }";
    let part = Part { name: "text", text };
    let module = machine
        .load(&[part])
        .unwrap_or_else(|error| panic!("{error}"));
    let launch = |name: &str, block| {
        let grid = Grid {
            grid: [1; 3],
            block,
            shared: 0,
        };
        let kernel = module.kernel(name).expect("it is there");
        match machine.launch(&module, kernel, grid, &[], Box::new(|_| {})) {
            Ok(running) => {
                let until = Instant::now() + Duration::from_secs(30);
                let ended = running.wait(Some(until)).expect("an end");
                ended.unwrap_or_else(|fault| panic!("{fault}"));
                String::new()
            }
            Err(error) => error.to_string(),
        }
    };
    assert_eq!(launch("exact", [8, 4, 1]), "");
    let refused = launch("exact", [4, 8, 1]);
    assert!(
        refused.contains("[4, 8, 1]") && refused.contains("[8, 4, 1]"),
        "{refused}"
    );
    // Only the number of threads of a bound counts.
    assert_eq!(launch("bounded", [1, 2, 16]), "");
    let refused = launch("bounded", [33, 1, 1]);
    assert!(
        refused.contains("[33, 1, 1]") && refused.contains("[8, 4, 1]"),
        "{refused}"
    );
}

#[test]
fn a_text_may_be_one_line() {
    let text = ".version 6.0.target sm_35.file 1 \"<dummy>\".func other ( );.func other ( ){}\
                .visible .global .align 8 .u64 $table[] = {other,0};.global .u32 own;";
    let machine = Machine::new(Options::default()).expect("a device");
    let part = Part { name: "text", text };
    let module = machine
        .load(&[part])
        .unwrap_or_else(|error| panic!("{error}"));
    let table = module.global("$table").expect("it is visible");
    assert_eq!(table.bytes, 16);
    // The host finds variables that are invisible to other texts.
    assert_eq!(module.global("own").expect("it is there").bytes, 4);
}
