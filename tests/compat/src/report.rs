//! libomptarget's reports with `LIBOMPTARGET_INFO`, in a form that does not depend on addresses.
//!
//! An address in mapped data is replaced by the mapping's number and an offset (`M2+16`), from the
//! line that creates the mapping to the one that removes it; another address is replaced by a
//! number in the order of appearance (`A3`). So libraries may differ in placement, alignment and
//! reuse of memory.

use std::collections::HashMap;

/// The starts of informational lines.
const INFO: [&str; 2] = ["omptarget device ", "\"PluginInterface\" device "];

/// The starts of complaints.
const COMPLAINTS: [&str; 4] = [
    "omptarget message: ",
    "omptarget error: ",
    "omptarget fatal error ",
    "\"PluginInterface\" error: ",
];

/// Not compared: libraries may have different numbers of devices, and the tables of unused ones are
/// empty.
const EMPTY_TABLE: &str = "mappings table empty";

const COPY: &str = "Copying data from ";

const LAUNCH: &str = " info: Launching kernel ";

/// A report.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Information, without the copies.
    pub info: Vec<String>,
    /// Complaints.
    pub complaints: Vec<String>,
    /// Copies and launches, in the program's order.
    pub work: Vec<String>,
    /// The number of copies.
    pub copies: usize,
    /// Bytes that were copied to the device.
    pub to_device: u64,
    /// Bytes that were copied from it.
    pub from_device: u64,
}

impl Report {
    /// The report in a program's standard error.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut report = Self::default();
        let mut names = Names::default();
        // Rows of a table, which libraries sort by address.
        let mut rows = Vec::new();
        for line in text.lines() {
            let begins = |starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
            if begins(&COMPLAINTS) {
                report.complaints.push(names.line(line));
                continue;
            }
            if !begins(&INFO) || line.contains(EMPTY_TABLE) {
                continue;
            }
            let is_row = line
                .split_once(" info: ")
                .is_some_and(|(_, rest)| rest.starts_with("0x"));
            let named = names.line(line);
            if is_row {
                rows.push(named);
                continue;
            }
            report.end_table(&mut rows);
            if line.contains(COPY) {
                let bytes = value(line, "Size=").unwrap_or(0);
                match line.contains("from host") {
                    true => report.to_device += bytes,
                    false => report.from_device += bytes,
                }
                report.copies += 1;
                report.work.push(named);
            } else {
                if line.contains(LAUNCH) {
                    report.work.push(named.clone());
                }
                report.info.push(named);
            }
        }
        report.end_table(&mut rows);
        report
    }

    fn end_table(&mut self, rows: &mut Vec<String>) {
        rows.sort_unstable();
        self.info.append(rows);
    }

    /// Without names of addresses, and sorted: for programs in which threads make both vary.
    #[must_use]
    pub fn unordered(mut self) -> Self {
        for lines in [&mut self.info, &mut self.complaints, &mut self.work] {
            lines
                .iter_mut()
                .for_each(|line| *line = without_names(line));
            lines.sort_unstable();
        }
        self
    }
}

/// Names for addresses.
#[derive(Default)]
struct Names {
    /// Current mappings: begin on the host, begin on the device, bytes, number.
    mapped: Vec<Mapping>,
    mappings: usize,
    others: HashMap<u64, usize>,
}

struct Mapping {
    host: u64,
    device: u64,
    size: u64,
    number: usize,
}

impl Names {
    /// A line with names instead of addresses.
    fn line(&mut self, line: &str) -> String {
        let mapping = || {
            let (host, device) = (value(line, "HstPtrBegin=")?, value(line, "TgtPtrBegin=")?);
            Some((host, device, value(line, "Size=")?))
        };
        let creates = line.contains("Creating new map entry");
        if creates && let Some((host, device, size)) = mapping() {
            self.mappings += 1;
            self.mapped.push(Mapping {
                host,
                device,
                size,
                number: self.mappings,
            });
        }
        let mut named = String::new();
        let mut rest = line;
        while let Some(at) = rest.find("0x") {
            let (before, address) = rest.split_at(at);
            let digits = &address[2..];
            let end = digits.find(|c: char| !c.is_ascii_hexdigit());
            let (digits, after) = digits.split_at(end.unwrap_or(digits.len()));
            named += before;
            let address = u64::from_str_radix(digits, 16).unwrap_or(0);
            named += &match value(line, "HstPtrBegin=") {
                // The library may choose the alignment.
                _ if before.ends_with("TgtAllocBegin=") => "any".to_owned(),
                // The base may lie outside of the mapped data, but in the same object.
                Some(begin) if before.ends_with("HstPtrBase=") => {
                    format!("begin{:+}", address.wrapping_sub(begin).cast_signed())
                }
                _ => self.name(
                    address,
                    before.ends_with("TgtPtrBegin=") || before.ends_with("TgtPtr="),
                ),
            };
            rest = after;
        }
        named += rest;
        if line.contains("Removing map entry")
            && let Some((host, device, _)) = mapping()
        {
            let removed = |mapping: &Mapping| mapping.host == host && mapping.device == device;
            self.mapped.retain(|mapping| !removed(mapping));
        }
        named
    }

    fn name(&mut self, address: u64, on_device: bool) -> String {
        let within = |begin: u64, size: u64| {
            let offset = address.checked_sub(begin)?;
            (offset < size.max(1)).then_some(offset)
        };
        // The newest first: several devices may have mapped the same data.
        for mapping in self.mapped.iter().rev() {
            let host = (!on_device)
                .then(|| within(mapping.host, mapping.size))
                .flatten();
            let offset = host.or_else(|| within(mapping.device, mapping.size));
            if let Some(offset) = offset {
                return format!("M{}+{offset}", mapping.number);
            }
        }
        let next = self.others.len() + 1;
        format!("A{}", self.others.entry(address).or_insert(next))
    }
}

/// The number after a key, hexadecimal with `0x`.
fn value(line: &str, key: &str) -> Option<u64> {
    let (_, rest) = line.split_once(key)?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric());
    let number = &rest[..end.unwrap_or(rest.len())];
    match number.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => number.parse().ok(),
    }
}

/// A line with `@` instead of names such as `M2+16` and `A3`.
fn without_names(line: &str) -> String {
    let mut result = String::new();
    let mut before = ' ';
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        let begins = matches!(c, 'M' | 'A') && !before.is_alphanumeric();
        if begins && rest.peek().is_some_and(char::is_ascii_digit) {
            while rest.peek().is_some_and(|c| c.is_ascii_digit() || *c == '+') {
                rest.next();
            }
            result.push('@');
        } else {
            result.push(c);
        }
        before = c;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping of 64 bytes, its copy, a table with it and a global, and its end.
    fn report(host: u64, device: u64, global: u64) -> String {
        let end = host + 16;
        format!(
            "omptarget device 0 info: Creating new map entry with HstPtrBase={:#018x}, \
             HstPtrBegin={host:#018x}, TgtAllocBegin={:#018x}, TgtPtrBegin={device:#018x}, \
             Size=64, DynRefCount=1, HoldRefCount=0, Name=unknown\n\
             omptarget device 0 info: Copying data from host to device, \
             HstPtr={end:#018x}, TgtPtr={:#018x}, Size=48, Name=unknown\n\
             omptarget device 0 info: {host:#018x} {device:#018x} 64 1 0 unknown at unknown:0:0\n\
             omptarget device 0 info: {global:#018x} {:#018x} 4 INF 0 g at unknown:0:0\n\
             omptarget device 1 info: OpenMP Host-Device pointer mappings table empty\n\
             omptarget device 0 info: Removing map entry with HstPtrBegin={host:#018x}, \
             TgtPtrBegin={device:#018x}, Size=64, Name=unknown\n\
             its own\n\
             omptarget message: no {host:#018x}\n",
            host - 8,
            device - 32,
            device + 16,
            global + 0x1000,
        )
    }

    #[test]
    fn addresses_have_names() {
        let report = Report::parse(&report(0x7ffc_0010, 0x5500, 0x40));
        let lines = [
            "omptarget device 0 info: Creating new map entry with HstPtrBase=begin-8, \
             HstPtrBegin=M1+0, TgtAllocBegin=any, TgtPtrBegin=M1+0, Size=64, DynRefCount=1, \
             HoldRefCount=0, Name=unknown",
            "omptarget device 0 info: A1 A2 4 INF 0 g at unknown:0:0",
            "omptarget device 0 info: M1+0 M1+0 64 1 0 unknown at unknown:0:0",
            "omptarget device 0 info: Removing map entry with HstPtrBegin=M1+0, \
             TgtPtrBegin=M1+0, Size=64, Name=unknown",
        ];
        assert_eq!(report.info, lines);
        let copy = "omptarget device 0 info: Copying data from host to device, HstPtr=M1+16, \
                    TgtPtr=M1+16, Size=48, Name=unknown";
        assert_eq!((report.work, report.copies), (vec![copy.to_owned()], 1));
        assert_eq!(report.complaints, ["omptarget message: no A3"]);
        assert_eq!((report.to_device, report.from_device), (48, 0));
    }

    #[test]
    fn places_do_not_matter() {
        let one = Report::parse(&report(0x7ffc_0010, 0x5500, 0x40));
        let other = Report::parse(&report(0x1_0000, 0x99_0040, 0xffff_0000));
        assert_eq!(one, other);
    }

    #[test]
    fn neither_names_nor_order() {
        let text = |one: u64, other: u64| {
            let line = |n| format!("omptarget device 0 info: Mapping M{n:x} HstPtr={n:#x}, A\n");
            Report::parse(&(line(one) + &line(other))).unordered()
        };
        let lines = text(0x10, 0x20).info;
        assert_eq!(lines[0], "omptarget device 0 info: Mapping @ HstPtr=@, A");
        assert_eq!(text(0x10, 0x20), text(0x20, 0x10));
    }
}
