//! [`Source`].

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

/// A package, and its features that are enabled.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The folder of the package.
    pub folder: PathBuf,
    /// Features that are enabled, besides those that `default` names.
    pub features: Vec<String>,
    /// Whether all features are enabled.
    pub all_features: bool,
    /// Whether those that `default` names are left out.
    pub no_default_features: bool,
}

impl Source {
    /// The same for cargo.
    pub(super) fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if !self.features.is_empty() {
            arguments.push(format!("--features={}", self.features.join(",")));
        }
        if self.all_features {
            arguments.push("--all-features".to_owned());
        }
        if self.no_default_features {
            arguments.push("--no-default-features".to_owned());
        }
        arguments
    }

    /// The enabled features among those that a package has, as cargo describes it, and what these enable.
    pub(super) fn enabled<'a>(&'a self, package: &'a Value) -> BTreeSet<&'a str> {
        let known = &package["features"];
        let mut left: Vec<&str> = self.features.iter().map(String::as_str).collect();
        if !self.no_default_features {
            left.push("default");
        }
        if self.all_features {
            left.extend(
                known
                    .as_object()
                    .into_iter()
                    .flatten()
                    .map(|(name, _)| name.as_str()),
            );
        }
        let mut enabled = BTreeSet::new();
        while let Some(name) = left.pop() {
            if let Some(others) = known[name].as_array()
                && enabled.insert(name)
            {
                // `crate/feature` also enables the optional crate, whose feature has its name.
                let others = others.iter().filter_map(Value::as_str);
                left.extend(others.map(|other| other.split('/').next().unwrap_or(other)));
            }
        }
        enabled
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_enable_others() {
        let package = serde_json::json!({"features": {
            "default": ["std"],
            "std": ["alloc", "dep:memchr", "serde/std", "log?/std"],
            "alloc": [], "serde": ["dep:serde"], "log": ["dep:log"], "loop": ["loop", "alloc"],
        }});
        let enabled = |source: &Source| {
            source
                .enabled(&package)
                .into_iter()
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut source = Source::default();
        assert_eq!(enabled(&source), "alloc default serde std");
        source.no_default_features = true;
        assert_eq!(enabled(&source), "");
        source.features = vec!["loop".to_owned(), "unknown".to_owned()];
        assert_eq!(enabled(&source), "alloc loop");
        source.all_features = true;
        assert_eq!(enabled(&source), "alloc default log loop serde std");
        let arguments = [
            "--features=loop,unknown",
            "--all-features",
            "--no-default-features",
        ];
        assert_eq!(source.arguments(), arguments);
    }
}
