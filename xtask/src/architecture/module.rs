//! The modules of a crate, as its root file declares them.

use std::collections::BTreeMap;

use syn::{Expr, Item, Lit, Meta};

use super::item;
use super::rust_file::RustFile;

/// A module that is compiled without `cfg(test)`.
#[derive(Clone)]
pub(crate) struct Module<'t> {
    /// The names from the crate's root to it; the root itself has none.
    pub(crate) path: Vec<String>,
    /// The file that holds it.
    pub(crate) file: &'t RustFile,
    /// Its items; those of an inline module inside it belong to that one.
    pub(crate) items: &'t [Item],
}

/// The modules of the crate with this root file, the root first.
///
/// Modules for tests alone are not among them: those under `cfg(test)`, and those called `tests`.
/// A declared file that is not there is the compiler's to report.
pub(crate) fn modules_of<'t>(files: &'t BTreeMap<String, RustFile>, root: &str) -> Vec<Module<'t>> {
    let mut modules = Vec::new();
    if let Some(file) = files.get(root) {
        let root_module = Module { path: Vec::new(), file, items: &file.syntax.items };
        collect(files, root_module, parent(root), &mut modules);
    }
    modules
}

/// Adds a module and those below it; `directory` is where its child files are.
fn collect<'t>(
    files: &'t BTreeMap<String, RustFile>,
    module: Module<'t>,
    directory: &str,
    modules: &mut Vec<Module<'t>>,
) {
    modules.push(module.clone());
    for declared in module.items {
        let Item::Mod(declared) = declared else { continue };
        let name = declared.ident.to_string();
        if name == "tests" || item::is_test_only(&declared.attrs) {
            continue;
        }
        let path = [module.path.as_slice(), std::slice::from_ref(&name)].concat();
        if let Some((_, items)) = &declared.content {
            let inline = Module { path, file: module.file, items };
            collect(files, inline, &join(directory, &name), modules);
            continue;
        }
        let flat = join(directory, &format!("{name}.rs"));
        let nested = join(directory, &format!("{name}/mod.rs"));
        let placed = placed_at(declared).map(|path| join(parent(&module.file.path), &path));
        let found = [placed, Some(flat), Some(nested)];
        if let Some(file) = found.iter().flatten().find_map(|path| files.get(path)) {
            let child = Module { path, file, items: &file.syntax.items };
            collect(files, child, &join(directory, &name), modules);
        }
    }
}

/// The value of `#[path = "…"]`.
fn placed_at(declared: &syn::ItemMod) -> Option<String> {
    declared.attrs.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(value) => match &value.lit {
                Lit::Str(path) => Some(path.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    })
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

fn join(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

#[cfg(test)]
mod tests {
    use crate::architecture::planted::PlantedWorkspace;

    #[test]
    fn modules_are_found_in_files_directories_and_inline() {
        let tree = PlantedWorkspace::new()
            .member("low", "mod a;\nmod b { mod inner; }\n#[cfg(test)]\nmod c;\nmod tests;\n")
            .file("crates/low/src/a.rs", "mod deep;\n")
            .file("crates/low/src/a/deep/mod.rs", "")
            .file("crates/low/src/b/inner.rs", "")
            .file("crates/low/src/c.rs", "")
            .file("crates/low/src/tests.rs", "")
            .read();
        let paths: Vec<_> = tree
            .modules_of("crates/low/src/lib.rs")
            .iter()
            .map(|module| module.path.join("::"))
            .collect();
        assert_eq!(paths, ["", "a", "a::deep", "b", "b::inner"]);
    }
}
