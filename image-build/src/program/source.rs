//! [`Source`].

use std::path::PathBuf;

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
    /// The options for cargo.
    pub(super) fn options(&self) -> Vec<String> {
        let mut options = Vec::new();
        if !self.features.is_empty() {
            options.push(format!("--features={}", self.features.join(",")));
        }
        if self.all_features {
            options.push("--all-features".to_owned());
        }
        if self.no_default_features {
            options.push("--no-default-features".to_owned());
        }
        options
    }
}
