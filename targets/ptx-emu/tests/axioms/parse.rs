//! Tests as text.

use super::{
    Action, Agent, REGISTERS, Races, Scope, Semantics, Step, Term, Test, Thread, Update, Value,
    Verdict,
};
type Result<T> = std::result::Result<T, String>;

pub(super) fn tests(text: &str) -> Result<Vec<Test>> {
    let mut tests = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let failed = |what: String| format!("line {number}: {what}");
        if let Some(name) = line.strip_prefix("test ") {
            tests.push(Test {
                name: name.trim().to_owned(),
                threads: Vec::new(),
                words: Vec::new(),
                exists: Vec::new(),
                expect: None,
            });
        } else if let Some(test) = tests.last_mut() {
            test.line(line, number).map_err(failed)?;
        } else {
            return Err(failed("`test` and a name come first".to_owned()));
        }
    }
    Ok(tests)
}

impl Test {
    fn line(&mut self, line: &str, number: u32) -> Result<()> {
        if let Some(terms) = line.strip_prefix("exists ") {
            for term in terms.split('&') {
                let term = self.term(term.trim())?;
                self.exists.push(term);
            }
        } else if let Some(verdict) = line.strip_prefix("expect ") {
            self.expect = Some(expected(verdict)?);
        } else if self.threads.is_empty() {
            let agents: Result<Vec<Agent>> = line.split('|').map(agent).collect();
            let thread = |agent| Thread {
                agent,
                steps: Vec::new(),
            };
            self.threads = agents?.into_iter().map(thread).collect();
        } else {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            if columns.len() > self.threads.len() {
                return Err("more columns than threads".to_owned());
            }
            for (thread, column) in columns.into_iter().enumerate() {
                if !column.is_empty() {
                    let step = self.step(column, number)?;
                    self.threads[thread].steps.push(step);
                }
            }
        }
        Ok(())
    }

    fn word(&mut self, name: &str) -> usize {
        let known = self.words.iter().position(|word| word == name);
        known.unwrap_or_else(|| {
            self.words.push(name.to_owned());
            self.words.len() - 1
        })
    }

    fn term(&mut self, term: &str) -> Result<Term> {
        let (left, value) = term.split_once('=').ok_or("`=` expected")?;
        let (left, value) = (left.trim(), number(value)?);
        let Some((thread, name)) = left.split_once(':') else {
            let word = self.words.iter().position(|word| word == left);
            let word = word.ok_or_else(|| format!("no thread uses `{left}`"))?;
            return Ok(Term::Word { word, value });
        };
        let thread = number(thread)? as usize;
        if thread >= self.threads.len() {
            return Err(format!("there is no thread {thread}"));
        }
        let register = register(name)?;
        Ok(Term::Register {
            thread,
            register,
            value,
        })
    }

    fn step(&mut self, text: &str, line: u32) -> Result<Step> {
        let mut text = text;
        let mut guard = None;
        if let Some(rest) = text.strip_prefix('@') {
            let (condition, rest) = rest.split_once(' ').ok_or("an instruction expected")?;
            let (left, value) = condition.split_once('=').ok_or("`=` expected")?;
            guard = Some((register(left)?, number(value)?));
            text = rest.trim();
        }
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        let operands: Vec<&str> = operands
            .split(',')
            .map(str::trim)
            .filter(|operand| !operand.is_empty())
            .collect();
        let mut parts = name.split('.');
        let name = parts.next().unwrap_or_default();
        let (mut semantics, mut scope, mut update) = (None, None, None);
        for part in parts {
            if let Some(known) = semantics_named(part) {
                semantics = Some(known);
            } else if let Some(known) = scope_named(part) {
                scope = Some(known);
            } else {
                update = Some(part);
            }
        }
        let action = match (name, &operands[..], update) {
            ("ld", [to, from], None) => Action::Load {
                to: register(to)?,
                word: self.address(from)?,
            },
            ("st", [to, from], None) => Action::Store {
                word: self.address(to)?,
                value: value(from)?,
            },
            ("atom", [to, at, operands @ ..], Some(update)) => Action::Atomic {
                to: register(to)?,
                word: self.address(at)?,
                update: match (update, operands) {
                    ("add", [a]) => Update::Add(value(a)?),
                    ("exch", [a]) => Update::Exchange(value(a)?),
                    ("cas", [a, b]) => Update::CompareAndSwap(value(a)?, value(b)?),
                    _ => return Err(format!("no atomic operation `{text}`")),
                },
            },
            ("fence" | "membar", [], None) => Action::Fence,
            _ => return Err(format!("no instruction `{text}`")),
        };
        let default = match name {
            "fence" | "membar" => Semantics::Sc,
            "atom" => Semantics::Relaxed,
            _ => Semantics::Weak,
        };
        let semantics = semantics.unwrap_or(default);
        let scope = match (semantics, scope, name) {
            (Semantics::Weak, None, _) => Scope::Cta,
            (Semantics::Volatile, None, _) => Scope::Sys,
            (Semantics::Weak | Semantics::Volatile, Some(_), _) => {
                return Err("a scope that means nothing".to_owned());
            }
            (_, Some(scope), _) => scope,
            (_, None, "atom") => Scope::Gpu,
            (_, None, _) => return Err("the scope is missing".to_owned()),
        };
        Ok(Step {
            action,
            semantics,
            scope,
            guard,
            line,
        })
    }

    fn address(&mut self, text: &str) -> Result<usize> {
        let name = text.strip_prefix('[').and_then(|t| t.strip_suffix(']'));
        let name = name.ok_or_else(|| format!("`{text}` is no address"))?;
        Ok(self.word(name.trim()))
    }
}

fn agent(text: &str) -> Result<Agent> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let small = |text| number(text).map(|n| n as u32);
    Ok(match words[..] {
        ["host"] => Agent::Host,
        ["block", block] => Agent::Device {
            device: 0,
            block: small(block)?,
        },
        ["gpu", device, "block", block] => Agent::Device {
            device: small(device)?,
            block: small(block)?,
        },
        _ => return Err(format!("`{text}` is not where a thread runs")),
    })
}

fn expected(text: &str) -> Result<Verdict> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [outcome, races] = words[..] else {
        return Err("an outcome and races expected".to_owned());
    };
    Ok(Verdict {
        allowed: match outcome {
            "allowed" => true,
            "forbidden" => false,
            _ => return Err(format!("no outcome `{outcome}`")),
        },
        races: match races {
            "clean" => Races::Clean,
            "race" => Races::Race,
            "narrow" => Races::Narrow,
            _ => return Err(format!("no races `{races}`")),
        },
    })
}

fn number(text: &str) -> Result<u64> {
    let text = text.trim();
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

fn register(text: &str) -> Result<usize> {
    let number = text.trim().strip_prefix('r').and_then(|n| n.parse().ok());
    number
        .filter(|&number: &usize| number < REGISTERS)
        .ok_or_else(|| format!("`{text}` is no register"))
}

fn value(text: &str) -> Result<Value> {
    if !text.starts_with('r') {
        return number(text).map(Value::Number);
    }
    match text.split_once('+') {
        None => Ok(Value::Register(register(text)?, 0)),
        Some((left, more)) => Ok(Value::Register(register(left)?, number(more)?)),
    }
}

fn semantics_named(part: &str) -> Option<Semantics> {
    Some(match part {
        "weak" => Semantics::Weak,
        "volatile" => Semantics::Volatile,
        "relaxed" => Semantics::Relaxed,
        "acquire" => Semantics::Acquire,
        "release" => Semantics::Release,
        "acq_rel" => Semantics::AcqRel,
        "sc" => Semantics::Sc,
        _ => return None,
    })
}

fn scope_named(part: &str) -> Option<Scope> {
    Some(match part {
        "cta" => Scope::Cta,
        "gpu" | "gl" => Scope::Gpu,
        "sys" => Scope::Sys,
        _ => return None,
    })
}
