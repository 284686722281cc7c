//! The metrics of a program at one time, in the OpenMetrics text format.

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};

/// How long a program may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Nobody serves the socket.
#[derive(Debug, thiserror::Error)]
#[error("{path}: no program answers here; start it with REVOFF_METRICS={path}", path = .0.display())]
pub(super) struct NoProgram(PathBuf);

/// Metrics by their names.
pub(super) struct Sample {
    pub(super) time: Instant,
    metrics: BTreeMap<String, Vec<(Labels, f64)>>,
}

/// Labels of a value: names and values.
pub(super) type Labels = BTreeMap<String, String>;

impl Sample {
    /// Asks a program.
    ///
    /// # Errors
    /// Nobody answers, or the answer is none of ours.
    pub(super) fn of(socket: &Path) -> anyhow::Result<Self> {
        // The system refuses connections to it, as to the socket of a program that was killed.
        let is_other = fs::metadata(socket).is_ok_and(|file| !file.file_type().is_socket());
        ensure!(
            !is_other,
            "{}: no socket; name the one that the program's REVOFF_METRICS names",
            socket.display()
        );
        let answer = ask(socket).map_err(|error| match error.kind() {
            // The latter two of a program that ends meanwhile.
            ErrorKind::NotFound
            | ErrorKind::ConnectionRefused
            | ErrorKind::ConnectionReset
            | ErrorKind::BrokenPipe => NoProgram(socket.to_owned()).into(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut => anyhow!(
                "{}: the program has not answered for {} s",
                socket.display(),
                TIMEOUT.as_secs()
            ),
            _ => anyhow!("{}: {error}", socket.display()),
        })?;
        Self::from_answer(&answer).with_context(|| format!("{}: no metrics", socket.display()))
    }

    fn from_answer(answer: &str) -> anyhow::Result<Self> {
        let (head, text) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
        let status = head.lines().next().unwrap_or_default();
        ensure!(status.split(' ').nth(1) == Some("200"), "{status}");
        ensure!(text.ends_with("# EOF\n"), "the answer is incomplete");
        let mut metrics = BTreeMap::<_, Vec<_>>::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, labels, value) =
                parse(line).with_context(|| format!("`{line}` is no metric"))?;
            metrics
                .entry(name.to_owned())
                .or_default()
                .push((labels, value));
        }
        Ok(Self {
            time: Instant::now(),
            metrics,
        })
    }

    /// The values of a metric.
    pub(super) fn values(&self, name: &str) -> &[(Labels, f64)] {
        self.metrics.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a metric with these labels; 0 if there is none.
    pub(super) fn value(&self, name: &str, labels: &Labels) -> f64 {
        let found = self.values(name).iter().find(|(of, _)| of == labels);
        found.map_or(0.0, |(_, value)| *value)
    }
}

fn ask(socket: &Path) -> std::io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.is_empty() {
        return Err(ErrorKind::ConnectionReset.into());
    }
    Ok(answer)
}

/// Reads `NAME{LABEL="VALUE",..} NUMBER`, with or without labels.
fn parse(line: &str) -> Option<(&str, Labels, f64)> {
    let end = line.find(['{', ' '])?;
    let (name, mut rest) = line.split_at(end);
    let mut labels = Labels::new();
    if let Some(first) = rest.strip_prefix('{') {
        rest = first;
        while !rest.starts_with('}') {
            let (label, value) = rest.split_once("=\"")?;
            let (value, after) = unquote(value)?;
            labels.insert(label.to_owned(), value);
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let number = rest.strip_prefix(' ')?;
    Some((name, labels, number.parse().ok()?))
}

/// A text up to its closing quote, and what follows.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                other => value.push(other),
            },
            _ => value.push(char),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(labels: &[(&str, &str)]) -> Labels {
        let owned = labels
            .iter()
            .map(|(name, value)| (name.to_string(), value.to_string()));
        owned.collect()
    }

    #[test]
    fn a_line_has_a_name_labels_and_a_number() {
        assert_eq!(parse("a 1"), Some(("a", Labels::new(), 1.0)));
        let line = r#"a_b{x="{1} \"2\" \\ 3\n",le="+Inf"} 2.5e-3"#;
        let found = labels(&[("x", "{1} \"2\" \\ 3\n"), ("le", "+Inf")]);
        assert_eq!(parse(line), Some(("a_b", found, 0.0025)));
        for line in ["", "a", "a{", "a{x} 1", "a{x=\"1} 1", "a{x=\"1\"}1", "a x"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn what_are_no_metrics_is_refused() {
        for (answer, reason) in [
            ("nonsense", "no HTTP answer"),
            ("HTTP/1.0 404 Not Found\r\n\r\n", "HTTP/1.0 404 Not Found"),
            ("HTTP/1.0 200 OK\r\n\r\na 1\n", "incomplete"),
            ("HTTP/1.0 200 OK\r\n\r\na x\n# EOF\n", "`a x` is no metric"),
        ] {
            let error = Sample::from_answer(answer).err().expect("an error");
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
