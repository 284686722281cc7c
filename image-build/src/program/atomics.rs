//! Lets `core`'s atomics mean on NVIDIA GPUs what Rust promises: see
//! device-std/overlay/core/src/sync/atomic/nvptx64.rs, which has the functions called here.

/// The file that changes, below `library`.
pub(super) const FILE: &str = "core/src/sync/atomic.rs";

const GPU: &str = "#[cfg(target_arch = \"nvptx64\")]";

/// The functions that read, modify and write, and how they combine the bits of narrow values.
const READ_MODIFY_WRITES: &[(&str, &str)] = &[
    ("swap", "new"),
    ("add", "old.wrapping_add(new)"),
    ("sub", "old.wrapping_sub(new)"),
    ("and", "old & new"),
    ("nand", "!(old & new)"),
    ("or", "old | new"),
    ("xor", "old ^ new"),
    ("max", "signed::<T>(old).max(signed::<T>(new)) as u16"),
    ("min", "signed::<T>(old).min(signed::<T>(new)) as u16"),
    ("umax", "old.max(new)"),
    ("umin", "old.min(new)"),
];

const COMPARE_EXCHANGE: &str =
    "if nvptx64::is_narrow::<T>() && !matches!(failure, Release | AcqRel) {
        let _ordered = nvptx64::Ordered::new(nvptx64::joined(success, failure));
        return unsafe { nvptx64::compare_exchange(dst, old, new) };
    }";

/// The first statement of other functions.
const OTHERS: &[(&str, &str)] = &[
    ("compare_exchange", COMPARE_EXCHANGE),
    ("compare_exchange_weak", COMPARE_EXCHANGE),
    (
        "load",
        "if nvptx64::is_narrow::<T>() && !matches!(order, Release | AcqRel) {
        let _ordered = nvptx64::Ordered::new(order);
        return unsafe { nvptx64::load(dst) };
    }",
    ),
    (
        "store",
        "if nvptx64::is_narrow::<T>() && !matches!(order, Acquire | AcqRel) {
        let _ordered = nvptx64::Ordered::new(order);
        unsafe { nvptx64::update(dst, val, |_, new| new) };
        return;
    }",
    ),
];

/// The text of [`FILE`], changed; `None` if it is not as expected.
pub(super) fn complete(text: &str) -> Option<String> {
    let mut text = format!("{text}\n{GPU}\nmod nvptx64;\n{GPU}\nuse nvptx64::signed;\n");
    for (name, combined) in READ_MODIFY_WRITES {
        let narrow = format!(
            "if nvptx64::is_narrow::<T>() {{
        return unsafe {{ nvptx64::update(dst, val, |old, new| {combined}) }};
    }}"
        );
        insert(&mut text, name, &narrow)?;
        insert(
            &mut text,
            name,
            "let _ordered = nvptx64::Ordered::new(order);",
        )?;
    }
    for (name, statement) in OTHERS {
        insert(&mut text, name, statement)?;
    }
    Some(text)
}

/// Makes a statement the first one of the function `atomic_<name>` on GPUs. `None` if there is none.
fn insert(text: &mut String, name: &str, statement: &str) -> Option<()> {
    let function = text.find(&format!("unsafe fn atomic_{name}<"))?;
    let body = function + text[function..].find("{\n")? + 2;
    text.insert_str(body, &format!("    {GPU}\n    {statement}\n"));
    Some(())
}
