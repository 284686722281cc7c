//! The format of a record: an object of JSON on a line.

use std::env;
use std::fmt::{Arguments, Debug};
use std::io::Write as _;

use tracing::field::{Field, Visit};

/// Maximum bytes of a text in a record, before it is escaped.
const MAX_TEXT: usize = 1024;

/// A record that is being written.
pub(crate) struct Record<'b>(&'b mut Vec<u8>);

impl<'b> Record<'b> {
    /// The beginning: its kind (`ph`), its process and its thread.
    pub(crate) fn new(buffer: &'b mut Vec<u8>, kind: &str, process: u32, thread: u32) -> Self {
        let mut record = Self(buffer);
        record.print(format_args!(
            r#"{{"ph":"{kind}","pid":{process},"tid":{thread}"#
        ));
        record
    }

    /// A number of nanoseconds, which the format has in microseconds.
    pub(crate) fn time(mut self, name: &str, nanoseconds: u64) -> Self {
        let (whole, rest) = (nanoseconds / 1000, nanoseconds % 1000);
        self.print(format_args!(r#","{name}":{whole}.{rest:03}"#));
        self
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> Self {
        self.print(format_args!(r#","{name}":"#));
        text(self.0, value);
        self
    }

    /// The end, with arguments in the form of [`Fields::args`].
    pub(crate) fn end(self, args: &[u8]) {
        if !args.is_empty() {
            self.0.extend(br#","args":{"#);
            self.0.extend(args);
            self.0.push(b'}');
        }
        self.0.extend(b"},\n");
    }

    fn print(&mut self, arguments: Arguments<'_>) {
        let _ = self.0.write_fmt(arguments); // A vector takes all.
    }
}

/// A record that names a process by its program.
pub(crate) fn process_name(buffer: &mut Vec<u8>, process: u32) {
    let program = env::args_os().next().unwrap_or_default();
    let record = Record::new(buffer, "M", process, process);
    let mut args = br#""name":"#.to_vec();
    text(&mut args, &program.to_string_lossy());
    record.text("name", "process_name").end(&args);
}

/// A text, escaped, in quotes, at most [`MAX_TEXT`] bytes of it.
pub(crate) fn text(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    for &byte in &text.as_bytes()[..text.floor_char_boundary(MAX_TEXT)] {
        match byte {
            b'"' | b'\\' => buffer.extend([b'\\', byte]),
            ..b' ' => {
                let _ = write!(buffer, "\\u{byte:04x}"); // A vector takes all.
            }
            _ => buffer.push(byte),
        }
    }
    buffer.push(b'"');
}

/// The fields of a span or event.
#[derive(Clone)]
pub(crate) struct Fields {
    /// Names and values, as in JSON.
    values: Vec<(&'static str, Vec<u8>)>,
    /// The value of the field that replaces the name.
    name: Option<String>,
    /// That field.
    name_field: &'static str,
}

impl Fields {
    /// None yet. OpenTelemetry renames spans by the same field.
    pub(crate) fn of_span() -> Self {
        Self::named_by("otel.name")
    }

    /// None yet.
    pub(crate) fn of_event() -> Self {
        Self::named_by("message")
    }

    fn named_by(name_field: &'static str) -> Self {
        Self {
            values: Vec::new(),
            name: None,
            name_field,
        }
    }

    /// The name of the span or event, which is `name` unless a field replaces it.
    pub(crate) fn name_or<'n>(&'n self, name: &'n str) -> &'n str {
        self.name.as_deref().unwrap_or(name)
    }

    /// The fields as members of an object, without its braces.
    pub(crate) fn args(&self) -> Vec<u8> {
        let mut args = Vec::new();
        for (name, value) in &self.values {
            if !args.is_empty() {
                args.push(b',');
            }
            text(&mut args, name);
            args.push(b':');
            args.extend(value);
        }
        args
    }

    /// Replaces and adds those of `later`.
    pub(crate) fn merge(&mut self, later: Self) {
        for (name, value) in later.values {
            self.set(name, value);
        }
        self.name = later.name.or(self.name.take());
    }

    fn set(&mut self, name: &'static str, value: Vec<u8>) {
        match self.values.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.values.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_f64(&mut self, field: &Field, value: f64) {
        match value.is_finite() {
            true => self.set(field.name(), value.to_string().into_bytes()),
            // JSON has no such numbers.
            false => self.record_str(field, &value.to_string()),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field.name(), value.to_string().into_bytes());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field.name(), value.to_string().into_bytes());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field.name(), value.to_string().into_bytes());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == self.name_field {
            self.name = Some(value.to_owned());
        } else {
            let mut json = Vec::new();
            text(&mut json, value);
            self.set(field.name(), json);
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
