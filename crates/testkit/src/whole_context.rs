//! The rule for helpers of commands: they take `Ui`, `Config` and `Repo` as they need them.
//!
//! Only the function that a `Command` names, `fn run(context: &mut Context, matches: &Matches)`, gets the whole
//! `Context` of a call. `whole_context.txt` keeps how many other references to it each crate has left.

use crate::workspace_root;
use std::collections::BTreeMap;
use std::path::Path;
use syn::visit::{self, Visit};
use syn::{FnArg, ImplItemFn, ItemFn, ItemStruct, PathArguments, Signature, Type, TypeReference};

/// Directories and files that make a `Context` or hand it to a command.
const OWNERS: &[&str] = &[
    "crates/hgcli/src/command_server",
    "crates/hgcli/src/commands/local/abort_and_continue.rs",
    "crates/hgcli/src/context",
    "crates/hgcli/src/dispatch",
];

/// References to `Context` in the sources of a crate, each with its file and its function or struct; those of commands' `run` are left out.
///
/// # Panics
/// If a file cannot be read or parsed.
pub fn references(name: &str) -> Vec<String> {
    let root = workspace_root();
    let mut found = Vec::new();
    search(
        &root,
        &root.join("crates").join(name).join("src"),
        &mut found,
    );
    found.sort();
    found
}

fn search(root: &Path, directory: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("sources can be listed") {
        let path = entry.expect("sources can be listed").path();
        let shown = path.strip_prefix(root).expect("sources lie below the root");
        if OWNERS.iter().any(|owner| shown.starts_with(owner)) {
            continue;
        }
        if path.is_dir() {
            search(root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("sources can be read");
            let owners = owners_of_references(&text).into_iter();
            found.extend(owners.map(|owner| format!("{}: {owner}", shown.display())));
        }
    }
}

/// The functions and structs of a source text that mention `&Context` or `&mut Context`, once per mention.
///
/// # Panics
/// If the text cannot be parsed.
pub fn owners_of_references(text: &str) -> Vec<String> {
    let file = syn::parse_file(text).expect("sources parse");
    let mut references = References::default();
    references.visit_file(&file);
    references.found
}

#[derive(Default)]
struct References {
    /// The function or struct that is visited.
    owner: String,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for References {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        self.owner = item.ident.to_string();
        visit::visit_item_struct(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        self.owner = function.sig.ident.to_string();
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.owner = function.sig.ident.to_string();
        match is_entry(&function.sig) {
            true => self.visit_block(&function.block),
            false => visit::visit_item_fn(self, function),
        }
    }

    fn visit_type_reference(&mut self, reference: &'ast TypeReference) {
        if is_named(&reference.elem, "Context") {
            self.found.push(self.owner.clone());
        }
        visit::visit_type_reference(self, reference);
    }
}

/// Whether a function is the `run` of a `Command`.
fn is_entry(signature: &Signature) -> bool {
    let types: Vec<&Type> = signature
        .inputs
        .iter()
        .filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.ty),
            FnArg::Receiver(_) => None,
        })
        .collect();
    let refers = |ty: &Type, name| {
        let Type::Reference(reference) = ty else {
            return false;
        };
        is_named(&reference.elem, name)
    };
    matches!(types[..], [context, matches]
        if signature.ident == "run" && refers(context, "Context") && refers(matches, "Matches"))
}

/// Whether a type has this name and no arguments; other crates' `Context<'_>` have some.
fn is_named(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == name && matches!(last.arguments, PathArguments::None))
}

/// How many references each crate may have, by `whole_context.txt`.
///
/// # Panics
/// If the file cannot be read, or a line is not a crate and a number.
pub fn allowed() -> BTreeMap<String, usize> {
    let path = workspace_root().join("crates/testkit/whole_context.txt");
    crate::rooms::counts(&path)
}
