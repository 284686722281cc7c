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

    pub(crate) fn number(mut self, name: &str, value: u64) -> Self {
        self.print(format_args!(r#","{name}":{value}"#));
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
#[derive(Default)]
pub(crate) struct Fields {
    /// Those that are shown, as members of an object without its braces.
    pub(crate) args: Vec<u8>,
    /// The field that replaces the name.
    pub(crate) name: Option<String>,
}

impl Fields {
    fn key(&mut self, name: &str) -> &mut Vec<u8> {
        if !self.args.is_empty() {
            self.args.push(b',');
        }
        text(&mut self.args, name);
        self.args.push(b':');
        &mut self.args
    }

    fn print(&mut self, name: &str, value: Arguments<'_>) {
        let _ = self.key(name).write_fmt(value); // A vector takes all.
    }
}

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.print(field.name(), format_args!("{value}"));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.print(field.name(), format_args!("{value}"));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.print(field.name(), format_args!("{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "otel.name" | "message" => self.name = Some(value.to_owned()),
            name => text(self.key(name), value),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
