//! The names in the root of a crate, and the top-level modules that they lead to.

use std::collections::{BTreeMap, BTreeSet};

use syn::Item;

use super::item;
use super::module::Module;
use super::reference::{Import, imports_of};

/// The names in the root of a crate: its modules, its imports and its exported macros.
pub(crate) struct RootNames {
    modules: BTreeSet<String>,
    imports: Vec<Import>,
    /// Exported macros, each with the top-level module that has it.
    macros: BTreeMap<String, String>,
    /// The names that each module declares, by its path.
    declared: BTreeMap<Vec<String>, BTreeSet<String>>,
}

impl RootNames {
    /// The names of the crate that has these modules.
    pub(crate) fn of(modules: &[Module<'_>]) -> Self {
        let mut names = Self {
            modules: BTreeSet::new(),
            imports: Vec::new(),
            macros: BTreeMap::new(),
            declared: BTreeMap::new(),
        };
        for module in modules {
            match module.path.as_slice() {
                [] => names.imports = imports(module).map(from_root).collect(),
                [name] => drop(names.modules.insert(name.clone())),
                [..] => {}
            }
            names.add_declared(module);
        }
        names
    }

    /// The top-level modules that a path from the root leads to.
    ///
    /// There is none for an item of the root itself, or of another crate. An import of everything
    /// in the root leads to every module, since any of them may be meant.
    pub(crate) fn resolve(&self, path: &[String]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        self.resolve_into(path, &mut BTreeSet::new(), &mut found);
        found
    }

    fn resolve_into(
        &self,
        path: &[String],
        seen: &mut BTreeSet<String>,
        found: &mut BTreeSet<String>,
    ) {
        let Some(first) = path.first() else { return };
        if first == "*" {
            found.extend(self.modules.iter().cloned());
        }
        if let Some(module) = self.modules.get(first).or_else(|| self.macros.get(first)) {
            found.insert(module.clone());
        }
        if !found.is_empty() || !seen.insert(first.clone()) {
            return;
        }
        for import in &self.imports {
            let from = match import.segments.split_last() {
                Some((star, from)) if star == "*" => from,
                _ => &[],
            };
            if import.name == *first || self.declares(from, first) {
                self.resolve_into(&import.segments, seen, found);
            }
        }
    }

    fn declares(&self, module: &[String], name: &str) -> bool {
        self.declared.get(module).is_some_and(|declared| declared.contains(name))
    }

    fn add_declared(&mut self, module: &Module<'_>) {
        let Some(top) = module.path.first() else { return };
        let mut declared: BTreeSet<_> = imports(module).map(|import| import.name).collect();
        for item in module.items {
            let Some(name) = item::name(item).map(ToString::to_string) else { continue };
            if is_exported_macro(item) {
                self.macros.insert(name.clone(), top.clone());
            }
            declared.insert(name);
        }
        self.declared.insert(module.path.clone(), declared);
    }
}

/// What the `use` items of a module bind.
fn imports<'m>(module: &'m Module<'_>) -> impl Iterator<Item = Import> + 'm {
    module.items.iter().flat_map(|item| match item {
        Item::Use(item) if !item::is_test_only(&item.attrs) => imports_of(item),
        _ => Vec::new(),
    })
}

/// An import of the root with its path written without `crate` or `self`.
fn from_root(mut import: Import) -> Import {
    if import.segments.first().is_some_and(|first| first == "crate" || first == "self") {
        import.segments.remove(0);
    }
    import
}

fn is_exported_macro(item: &Item) -> bool {
    let exported = |attribute: &syn::Attribute| attribute.path().is_ident("macro_export");
    matches!(item, Item::Macro(_)) && item::attributes(item).iter().any(exported)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::planted::PlantedWorkspace;

    fn resolved(path: &str) -> Vec<String> {
        let root = "mod a;\nmod b;\nmod c;\n\
            pub use a::X;\nuse crate::a::Y as Z;\npub use Z as W;\n\
            pub use b::*;\nuse std::mem;\nfn of_root() {}\n";
        let tree = PlantedWorkspace::new()
            .member("low", root)
            .file("crates/low/src/a.rs", "")
            .file("crates/low/src/b.rs", "pub struct InB;\npub use std::fmt::Debug;\n")
            .file("crates/low/src/c.rs", "#[macro_export]\nmacro_rules! shout { () => {} }\n")
            .read();
        let names = RootNames::of(&tree.modules_of("crates/low/src/lib.rs"));
        let path: Vec<_> = path.split("::").map(str::to_owned).collect();
        names.resolve(&path).into_iter().collect()
    }

    #[test]
    fn a_name_is_followed_through_re_exports_to_its_module() {
        for (path, module) in [
            ("a::Q", "a"),
            ("X", "a"),
            ("Z", "a"),
            ("W", "a"),
            ("InB::new", "b"),
            ("Debug", "b"),
            ("shout", "c"),
        ] {
            assert_eq!(resolved(path), [module], "{path}");
        }
    }

    #[test]
    fn names_of_the_root_and_of_other_crates_lead_to_no_module() {
        for path in ["of_root", "mem::take", "unknown"] {
            assert!(resolved(path).is_empty(), "{path}");
        }
    }

    #[test]
    fn an_import_of_everything_leads_to_every_module() {
        assert_eq!(resolved("*"), ["a", "b", "c"]);
    }
}
