//! The table at the end: the images, and the resources of their kernels.

use std::fs;

use revoff_build::device::DeviceImage;

/// A kernel or function of an image.
pub(crate) struct Row {
    cells: [String; 7],
}

const HEAD: [&str; 7] = [
    "arch",
    "image",
    "bytes",
    "function",
    "registers",
    "stack",
    "assembler",
];

impl Row {
    /// A row for each kernel and function of `image` with known resources, at least one row.
    pub(crate) fn of(image: &DeviceImage, rustc: &str) -> Vec<Row> {
        let file = image
            .cubin
            .as_ref()
            .or(image.code_object.as_ref())
            .or(image.ptx.as_ref());
        let name = file
            .and_then(|file| file.file_name())
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        let bytes = file
            .and_then(|file| fs::metadata(file).ok())
            .map(|meta| meta.len().to_string())
            .unwrap_or_default();
        let tool = match (&image.assembler, &image.code_object) {
            (Some(assembler), _) => format!("{rustc}, {assembler}"),
            (None, Some(_)) => format!("{rustc}, lld"),
            (None, None) => format!("{rustc}, no ptxas that knows it: PTX only"),
        };
        let row = |function: &str, registers: String, stack: String| Row {
            cells: [
                image.arch.name.to_owned(),
                name.clone(),
                bytes.clone(),
                function.to_owned(),
                registers,
                stack,
                tool.clone(),
            ],
        };
        let mut rows: Vec<_> = image
            .usage
            .iter()
            .filter(|usage| usage.registers.is_some() || usage.name == "GOMP_target_ext")
            .map(|usage| {
                let stack = match usage.spilled {
                    0 => usage.stack.to_string(),
                    spilled => format!("{} ({spilled} spilled)", usage.stack),
                };
                let registers = usage.registers.map_or("-".to_owned(), |n| n.to_string());
                row(&usage.name, registers, stack)
            })
            .collect();
        if rows.is_empty() {
            rows.push(row("-", "-".to_owned(), "-".to_owned()));
        }
        rows
    }
}

/// The rows under their head, in columns.
pub(crate) fn print(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let head = Row {
        cells: HEAD.map(str::to_owned),
    };
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| all().map(|row| row.cells[column].len()).max().unwrap_or(0);
    let widths: Vec<_> = (0..HEAD.len()).map(width).collect();
    let mut text = String::new();
    for row in all() {
        let cells = row.cells.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}
