//! Cases: whole texts, of which a kernel `test` runs.
//!
//! Options: `threads=8x4`, `blocks=2`, `shared=256` (dynamic), `sm=60,90` (the devices that
//! it is to run on, each with the same outcome; both if not given), `bare` (without the
//! directives that begin a text, which are put before the first line otherwise).
//!
//! Between the lines of PTX:
//!
//! * `part` begins another text, to be linked with the one before;
//! * `gives 1 -2 0x3 8*5 0..32` says what words of 32 bits the kernel leaves in its output;
//! * `prints TEXT` says what it prints, a line each, and `prints` alone nothing;
//! * `//! error TEXT` or `//! fault KIND TEXT` at the end of a line says that loading or
//!   running fails there, with an error that has TEXT, or several with ` & ` between them.

use ptx_emu::{Grid, LoadError, Part};

use super::{Device, code, device};

struct Case<'a> {
    grid: Grid,
    devices: Vec<u32>,
    is_bare: bool,
    parts: Vec<String>,
    gives: Vec<u32>,
    prints: Option<String>,
    /// The line of the expected error, its kind, and a part of its message.
    fails: Option<(u32, &'a str, &'a str)>,
}

/// Runs the case that begins with `first`; returns its failure.
pub(super) fn run(
    devices: &mut Vec<(u32, Device)>,
    first: &str,
    body: &[(u32, &str)],
) -> Vec<String> {
    let case = match read(first, body) {
        Ok(case) => case,
        Err(word) => return vec![format!("`{word}` is not known")],
    };
    let mut failures = Vec::new();
    for &sm in &case.devices {
        if let Err(what) = run_on(device(devices, sm), &case) {
            failures.push(format!("sm_{sm}: {first}: {what}"));
        }
    }
    failures
}

/// Reads a case; the error is the unknown word.
fn read<'a>(first: &'a str, body: &[(u32, &'a str)]) -> Result<Case<'a>, &'a str> {
    let mut case = Case {
        grid: Grid {
            grid: [1; 3],
            block: [1; 3],
            shared: 0,
        },
        devices: vec![90, 60],
        is_bare: false,
        parts: Vec::new(),
        gives: Vec::new(),
        prints: None,
        fails: None,
    };
    for option in first.split_whitespace().skip(2) {
        read_option(&mut case, option).ok_or(option)?;
    }
    let Some(&(start, _)) = body.first() else {
        return Ok(case);
    };
    begin(&mut case, start);
    for &(number, line) in body {
        let mut text = "";
        match line.trim().split_once(' ').unwrap_or((line.trim(), "")) {
            ("part", "") => begin(&mut case, number),
            ("gives", values) => {
                for word in code(values).split_whitespace() {
                    case.gives.extend(words(word).ok_or(word)?);
                }
            }
            ("prints", rest) => {
                let all = case.prints.get_or_insert_default();
                *all += rest;
                *all += if rest.is_empty() { "" } else { "\n" };
            }
            _ => text = line,
        }
        if let Some((before, failure)) = line.split_once("//! ") {
            // Faults quote their line: it must not contain the expected text.
            text = before;
            let (kind, what) = failure.split_once(' ').ok_or(failure)?;
            case.fails = Some((number, kind, what));
        }
        let part = case.parts.last_mut().ok_or(line)?;
        *part += "\n";
        *part += text;
    }
    Ok(case)
}

/// Begins a text, whose next line is number `start` of the file, unchanged.
fn begin(case: &mut Case<'_>, start: u32) {
    let mut text = "\n".repeat(start as usize - 2);
    if !case.is_bare {
        // The oldest versions that suit all cases.
        text.insert_str(0, ".version 8.0 .target sm_60 .address_size 64 ");
    }
    case.parts.push(text);
}

fn read_option(case: &mut Case<'_>, option: &str) -> Option<()> {
    match option.split_once('=').unwrap_or((option, "")) {
        ("bare", "") => case.is_bare = true,
        ("threads", sizes) => {
            for (size, word) in case.grid.block.iter_mut().zip(sizes.split('x')) {
                *size = word.parse().ok()?;
            }
        }
        ("blocks", sizes) => {
            for (size, word) in case.grid.grid.iter_mut().zip(sizes.split('x')) {
                *size = word.parse().ok()?;
            }
        }
        ("shared", bytes) => case.grid.shared = bytes.parse().ok()?,
        ("sm", list) => {
            let list: Option<_> = list.split(',').map(|sm| sm.parse().ok()).collect();
            case.devices = list?;
        }
        _ => return None,
    }
    Some(())
}

/// `5`, `-5`, `0x5`, `8*5` or `0..32`, as words.
fn words(word: &str) -> Option<Vec<u32>> {
    if let Some((count, value)) = word.split_once('*') {
        let [value] = words(value)?[..] else {
            return None;
        };
        return Some(vec![value; count.parse().ok()?]);
    }
    if let Some((from, to)) = word.split_once("..") {
        return Some((from.parse().ok()?..to.parse().ok()?).collect());
    }
    let value = match word.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None => word.parse().ok()?,
    };
    Some(vec![value as u32])
}

fn run_on(device: &Device, case: &Case<'_>) -> Result<(), String> {
    let parts: Vec<Part<'_>> = case
        .parts
        .iter()
        .map(|text| Part { name: "case", text })
        .collect();
    let module = match (device.load(&parts), case.fails) {
        (Ok(module), None | Some((_, "fault", _))) => module,
        (Err(error), Some((line, "error", wanted))) => return is_error(&error, line, wanted),
        (Err(error), _) => return Err(error.to_string()),
        (Ok(_), Some((line, kind, wanted))) => {
            return Err(format!("no {kind} at line {line}: {wanted}"));
        }
    };
    let result = device.run(&module, case.grid, &[]);
    let printed = device.printed();
    if case
        .prints
        .as_ref()
        .is_some_and(|wanted| *wanted != printed)
    {
        return Err(format!("it prints {printed:?}, not {:?}", case.prints));
    }
    match (result, case.fails) {
        (Ok(output), None) => {
            let (words, _) = output.as_chunks::<4>();
            let found: Vec<u32> = words.iter().map(|&word| u32::from_le_bytes(word)).collect();
            let found = &found[..case.gives.len()];
            let differs = found.iter().zip(&case.gives).position(|(a, b)| a != b);
            differs.map_or(Ok(()), |at| {
                let wanted = &case.gives;
                Err(format!(
                    "word {at} differs: {found:x?} instead of {wanted:x?}"
                ))
            })
        }
        (Err(fault), Some((line, _, wanted))) => {
            let kind = format!("{:?} {}", fault.what, fault.what);
            if fault.at.line == line && wanted.split(" & ").all(|part| kind.contains(part)) {
                return Ok(());
            }
            Err(format!("another fault: {fault} ({:?})", fault.what))
        }
        (Err(fault), None) => Err(fault.to_string()),
        (Ok(_), Some((line, _, wanted))) => Err(format!("no fault at line {line}: {wanted}")),
    }
}

fn is_error(error: &LoadError, line: u32, wanted: &str) -> Result<(), String> {
    let at = match error {
        LoadError::Text { line, .. } => *line,
        _ => line,
    };
    let text = format!("{error:?} {error}");
    if at == line && wanted.split(" & ").all(|part| text.contains(part)) {
        return Ok(());
    }
    Err(format!("another error: {error}"))
}
