//! Imports between the files of a crate: every path in their code, resolved through `use` to the file
//! that defines its name.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree};

use crate::source::{Module, is_test};

/// A module, and the file that it is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Location {
    pub(super) module: Vec<String>,
    pub(super) file: String,
    /// The module whose folder has the file.
    pub(super) folder: Vec<String>,
    /// Whether the file is that module's own, such as `mod.rs`.
    pub(super) is_facade: bool,
}

/// A name that one file imports from another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Import {
    pub(super) from: Location,
    pub(super) line: usize,
    pub(super) to: Location,
    name: String,
    /// Whether it is imported through the crate's root: through its `use` or a module in its file.
    pub(super) is_through_root: bool,
}

impl Import {
    /// The path of the name where it is defined.
    pub(super) fn path(&self) -> String {
        [self.to.module.as_slice(), std::slice::from_ref(&self.name)]
            .concat()
            .join("::")
    }
}

/// The imports of a crate.
pub(super) struct Imports {
    pub(super) list: Vec<Import>,
    /// The file of the crate's root.
    pub(super) root: Option<String>,
}

/// The names of a module's scope.
#[derive(Default)]
struct Scope {
    defined: BTreeSet<String>,
    /// The names of `use`, with their paths from the crate's root.
    used: BTreeMap<String, Vec<String>>,
    /// Modules all of whose names are used.
    globs: Vec<Vec<String>>,
}

type Scopes = BTreeMap<Vec<String>, Scope>;

/// A path in the code of a module, from the crate's root, and its line.
type Reference = (Vec<String>, usize);

impl Imports {
    pub(super) fn new(modules: &[Module]) -> Self {
        let tests: BTreeSet<Vec<String>> = modules.iter().flat_map(test_modules).collect();
        let is_kept = |module: &&Module| {
            !(1..=module.path.len()).any(|len| tests.contains(&module.path[..len]))
        };
        let modules: Vec<_> = modules.iter().filter(is_kept).collect();
        let mut scopes: Scopes = modules
            .iter()
            .map(|module| (module.path.clone(), Scope::default()))
            .collect();
        let mut references = Vec::new();
        for module in &modules {
            references.push(declare(module, &mut scopes));
        }
        let places: BTreeMap<_, _> = modules
            .iter()
            .map(|module| (module.path.clone(), place(module, &scopes)))
            .collect();
        let root = places.get(&vec![]).map(|root| root.file.clone());
        let is_in_root = |path: &[String]| {
            let top = places.get(&path[..1]);
            top.is_none_or(|top| Some(&top.file) == root.as_ref())
        };
        let mut list = BTreeSet::new();
        for (module, used) in modules.iter().zip(references) {
            let from = &places[&module.path];
            let written = module
                .items
                .iter()
                .filter(|item| !matches!(item, Item::Use(_)) && !is_for_tests(item));
            let mut written_paths = Vec::new();
            written.for_each(|item| scan(item.to_token_stream(), &mut written_paths));
            let written = written_paths
                .into_iter()
                .filter_map(|(path, line)| Some((absolute(&module.path, &path, &scopes)?, line)));
            for (path, line) in used.into_iter().chain(written) {
                let Some((to, name)) = resolve(&path, &scopes, 0) else {
                    continue;
                };
                let to = &places[&to];
                if to.file != from.file {
                    list.insert(Import {
                        from: from.clone(),
                        line,
                        to: to.clone(),
                        name,
                        is_through_root: is_in_root(&path),
                    });
                }
            }
        }
        Self {
            list: list.into_iter().collect(),
            root,
        }
    }
}

fn place(module: &Module, scopes: &Scopes) -> Location {
    // An inline module is in the folder of its file.
    let mut of_file = module.path.as_slice();
    let stem = module
        .file
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .trim_end_matches(".rs");
    let mut is_facade = matches!(stem, "mod" | "lib" | "main");
    if !is_facade {
        let at = of_file
            .iter()
            .rposition(|part| part == stem)
            .map_or(of_file.len(), |at| at + 1);
        of_file = &of_file[..at];
        is_facade = scopes
            .keys()
            .any(|path| path.len() > of_file.len() && path.starts_with(of_file));
        if !is_facade {
            of_file = &of_file[..of_file.len().saturating_sub(1)];
        }
    }
    Location {
        module: module.path.clone(),
        file: module.file.clone(),
        folder: of_file.to_vec(),
        is_facade,
    }
}

/// The modules for tests that a module declares.
fn test_modules(module: &Module) -> Vec<Vec<String>> {
    let inner = module.items.iter().filter_map(|item| match item {
        Item::Mod(inner) if is_test(&inner.attrs) => Some(inner.ident.to_string()),
        _ => None,
    });
    inner
        .map(|name| [module.path.as_slice(), &[name]].concat())
        .collect()
}

fn is_for_tests(item: &Item) -> bool {
    match item {
        Item::Mod(item) => is_test(&item.attrs),
        Item::Fn(item) => is_test(&item.attrs),
        Item::Impl(item) => is_test(&item.attrs),
        _ => false,
    }
}

/// Records the names that a module defines and uses. Returns the used paths.
fn declare(module: &Module, scopes: &mut Scopes) -> Vec<Reference> {
    let mut scope = Scope::default();
    let mut trees = Vec::new();
    for item in &module.items {
        if let Item::Use(item) = item
            && !is_test(&item.attrs)
            && item.leading_colon.is_none()
        {
            let line = item.use_token.span.start().line;
            flatten(&item.tree, Vec::new(), line, &mut trees);
        }
        scope.defined.extend(name_of(item));
    }
    let mut references = Vec::new();
    for (path, name, line) in trees {
        let Some(path) = absolute(&module.path, &path, scopes) else {
            // A name of another crate, which hides a module of that name.
            continue;
        };
        match name {
            Some(name) => drop(scope.used.insert(name, path.clone())),
            None => scope.globs.push(path.clone()),
        }
        references.push((path, line));
    }
    scopes.insert(module.path.clone(), scope);
    references
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

/// The paths of a `use`, with the name that each gets (`None` for all names) and its line.
fn flatten(
    tree: &UseTree,
    mut path: Vec<String>,
    line: usize,
    into: &mut Vec<(Vec<String>, Option<String>, usize)>,
) {
    match tree {
        UseTree::Path(tree) => {
            path.push(tree.ident.to_string());
            flatten(&tree.tree, path, line, into);
        }
        UseTree::Name(tree) => {
            let mut name = tree.ident.to_string();
            if name == "self" {
                name = path.last().cloned().unwrap_or_default();
            } else {
                path.push(name.clone());
            }
            into.push((path, Some(name), tree.ident.span().start().line));
        }
        UseTree::Rename(tree) => {
            if tree.ident != "self" {
                path.push(tree.ident.to_string());
            }
            into.push((path, Some(tree.rename.to_string()), line));
        }
        UseTree::Glob(_) => into.push((path, None, line)),
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|tree| flatten(tree, path.clone(), line, into)),
    }
}

/// The paths of several segments in code, macros' arguments included, with their lines.
fn scan(tokens: TokenStream, into: &mut Vec<Reference>) {
    let tokens: Vec<_> = tokens.into_iter().collect();
    let is_colon = |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => scan(group.stream(), into),
            TokenTree::Ident(first) if at < 2 || !(is_colon(at - 1) && is_colon(at - 2)) => {
                let mut path = vec![first.to_string()];
                while is_colon(at + 1)
                    && is_colon(at + 2)
                    && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                {
                    path.push(next.to_string());
                    at += 3;
                }
                if path.len() > 1 {
                    into.push((path, first.span().start().line));
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// A path in `module` as a path from the crate's root; `None` for another crate's.
fn absolute(module: &[String], path: &[String], scopes: &Scopes) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => base.clear(),
        "self" => {}
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
            return Some([&base, rest].concat());
        }
        first => {
            let scope = scopes.get(module)?;
            if let Some(used) = scope.used.get(first) {
                return Some([used, &rest[1..]].concat());
            }
            let inner = [module, &[first.to_owned()]].concat();
            return scopes.contains_key(&inner).then(|| [module, rest].concat());
        }
    }
    rest = &rest[1..];
    Some([&base, rest].concat())
}

/// The module that defines the name at `path`, and the name; `None` for a module or a name of
/// another crate.
fn resolve(path: &[String], scopes: &Scopes, depth: usize) -> Option<(Vec<String>, String)> {
    let mut len = 0;
    while len < path.len() && scopes.contains_key(&path[..len + 1]) {
        len += 1;
    }
    let (module, rest) = path.split_at(len);
    let name = rest.first()?;
    let scope = scopes.get(module)?;
    if scope.defined.contains(name) {
        return Some((module.to_vec(), name.clone()));
    }
    // `use` may be cyclic.
    if depth > 8 {
        return None;
    }
    if let Some(used) = scope.used.get(name) {
        return resolve(&[used, &rest[1..]].concat(), scopes, depth + 1);
    }
    let globs = scope.globs.iter();
    let mut found = globs.filter_map(|glob| resolve(&[glob, rest].concat(), scopes, depth + 1));
    // Items of macros have no names here.
    found
        .next()
        .or_else(|| Some((module.to_vec(), name.clone())))
}
