//! Paths in a module that lead through the root of its crate.

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Attribute, ImplItem, Item, ItemUse, Lit, Local, Macro, Meta, UseTree, Visibility};

use super::item;
use super::module::Module;
use super::token::{self, SourceToken};

/// A path from the root of a crate, and the line that has it.
///
/// `crate::a::B`, `super::a::B` in a top-level module and `$crate::a::B` in a macro are all
/// `["a", "B"]`. The last segment of an import of everything is `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The names from the root on; there is at least one.
    pub(crate) segments: Vec<String>,
    /// The line, counted from one.
    pub(crate) line: usize,
}

/// One name that a `use` binds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    /// The name; `*` binds all.
    pub(crate) name: String,
    /// The path, as written.
    pub(crate) segments: Vec<String>,
    /// The line, counted from one.
    pub(crate) line: usize,
}

/// The names that a `use` binds.
pub(crate) fn imports_of(item: &ItemUse) -> Vec<Import> {
    let mut imports = Vec::new();
    if item.leading_colon.is_none() {
        add_imports(&item.tree, &mut Vec::new(), &mut imports);
    }
    imports
}

fn add_imports(tree: &UseTree, prefix: &mut Vec<String>, imports: &mut Vec<Import>) {
    let mut add = |name: String, last: String, line| {
        let segments = match last.as_str() {
            "self" => prefix.clone(),
            _ => [prefix.as_slice(), &[last]].concat(),
        };
        let name = if name == "self" { prefix.last().cloned().unwrap_or(name) } else { name };
        imports.push(Import { name, segments, line });
    };
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            add_imports(&path.tree, prefix, imports);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let text = name.ident.to_string();
            add(text.clone(), text, name.ident.span().start().line);
        }
        UseTree::Rename(rename) => {
            let line = rename.ident.span().start().line;
            add(rename.rename.to_string(), rename.ident.to_string(), line);
        }
        UseTree::Glob(glob) => {
            let line = glob.star_token.spans[0].start().line;
            add("*".to_owned(), "*".to_owned(), line);
        }
        UseTree::Group(group) => {
            for tree in &group.items {
                add_imports(tree, prefix, imports);
            }
        }
    }
}

/// Every path in a module that leads through the root of its crate.
///
/// Code for tests alone is left out. Inside macros, a path is seen as far as its tokens are next to
/// each other; inside attributes, also in string literals such as `with = "crate::time"`.
pub(crate) fn references_of(module: &Module<'_>) -> Vec<Reference> {
    let mut visitor = ReferenceVisitor { depth: module.path.len(), found: Vec::new() };
    for item in module.items {
        visitor.visit_item(item);
    }
    visitor.found
}

struct ReferenceVisitor {
    /// The number of `super` that lead to the root.
    depth: usize,
    found: Vec<Reference>,
}

impl ReferenceVisitor {
    /// Keeps a path if it leads through the root.
    fn add(&mut self, written: &[String], line: usize) {
        let rest = match written {
            [first, rest @ ..] if first == "crate" => rest,
            [first, rest @ ..] if first == "self" => self.above_root(rest),
            _ => self.above_root(written),
        };
        if !rest.is_empty() {
            self.found.push(Reference { segments: rest.to_vec(), line });
        }
    }

    /// The path without its `super`s, if they end at the root; nothing otherwise.
    fn above_root<'p>(&self, path: &'p [String]) -> &'p [String] {
        let supers = path.iter().take_while(|segment| *segment == "super").count();
        if supers > 0 && supers == self.depth { &path[supers..] } else { &[] }
    }

    fn add_tokens(&mut self, stream: &TokenStream) {
        let tokens = token::flatten(stream);
        for (at, token) in tokens.iter().enumerate() {
            let follows_path = at >= 2 && tokens[at - 1].is(':') && tokens[at - 2].is(':');
            let starts_path = matches!(token, SourceToken::Ident(ident)
                if ident == "crate" || ident == "self" || ident == "super");
            if let SourceToken::Ident(ident) = token
                && starts_path
                && !follows_path
            {
                self.add_written(&tokens[at..], ident.span().start().line);
            }
        }
    }

    /// Adds the path that these tokens begin with, and those of a group such as `crate::{a, b}`.
    fn add_written(&mut self, tokens: &[SourceToken], line: usize) {
        let mut path = Vec::new();
        let mut rest = tokens;
        while let [SourceToken::Ident(ident), after @ ..] = rest {
            path.push(ident.to_string());
            match after {
                [first, second, next @ ..] if first.is(':') && second.is(':') => rest = next,
                _ => rest = &[],
            }
        }
        self.add(&path, line);
        let mut depth = 0;
        for pair in rest.windows(2) {
            match &pair[0] {
                mark if mark.is('{') => depth += 1,
                mark if mark.is('}') => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            let begins = depth == 1 && (pair[0].is('{') || pair[0].is(','));
            if let (true, Some(name)) = (begins, pair[1].ident()) {
                self.add(&[path.as_slice(), &[name]].concat(), line);
            }
        }
    }

    /// Adds the path that a string literal consists of.
    fn add_literal(&mut self, literal: &proc_macro2::Literal) {
        if let Lit::Str(text) = Lit::new(literal.clone())
            && let Ok(path) = text.parse::<syn::Path>()
        {
            self.add(&segments(&path), literal.span().start().line);
        }
    }
}

impl<'s> Visit<'s> for ReferenceVisitor {
    fn visit_item(&mut self, item: &'s Item) {
        // A module inside this one is a module of its own.
        if !matches!(item, Item::Mod(_)) && !item::is_test_only(item::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'s ImplItem) {
        if !item::is_test_only(item::impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_local(&mut self, local: &'s Local) {
        if !item::is_test_only(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_item_use(&mut self, item: &'s ItemUse) {
        for import in imports_of(item) {
            self.add(&import.segments, import.line);
        }
    }

    fn visit_path(&mut self, path: &'s syn::Path) {
        if let Some(first) = path.segments.first() {
            self.add(&segments(path), first.ident.span().start().line);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'s Macro) {
        self.visit_path(&call.path);
        self.add_tokens(&call.tokens);
    }

    fn visit_attribute(&mut self, attribute: &'s Attribute) {
        self.visit_path(attribute.path());
        if let Meta::List(list) = &attribute.meta {
            self.add_tokens(&list.tokens);
            for token in token::flatten(&list.tokens) {
                if let SourceToken::Literal(literal) = token {
                    self.add_literal(&literal);
                }
            }
        }
    }

    /// `pub(in crate::a)` names a module above, and uses nothing of it.
    fn visit_visibility(&mut self, _: &'s Visibility) {}
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use crate::architecture::planted::PlantedWorkspace;

    use super::*;

    /// The references of module `a::b` with this text, as `path:line`.
    fn references(text: &str) -> Vec<String> {
        let tree = PlantedWorkspace::new()
            .member("low", "mod a;\n")
            .file("crates/low/src/a.rs", "mod b;\n")
            .file("crates/low/src/a/b.rs", text)
            .read();
        let modules = tree.modules_of("crates/low/src/lib.rs");
        let module = modules.iter().find(|module| module.path == ["a", "b"]).unwrap();
        let shown = |found: &Reference| format!("{}:{}", found.segments.join("::"), found.line);
        references_of(module).iter().map(shown).collect()
    }

    #[test]
    fn a_use_is_one_reference_for_each_name() {
        let text = "use crate::{c::{self, D as E},\n    f};\nuse crate::g::*;\nuse std::mem;\n";
        assert_eq!(references(text), ["c:1", "c::D:1", "f:2", "g::*:3"]);
    }

    #[test]
    fn only_a_chain_of_super_up_to_the_root_leads_through_it() {
        let text = "use super::c::D;\nuse super::super::e::F;\nuse self::super::super::G;\n";
        assert_eq!(references(text), ["e::F:2", "G:3"]);
    }

    #[test]
    fn expressions_types_attributes_and_macros_are_searched() {
        let text = "#[serde(with = \"crate::time\")]\n\
            fn f(a: crate::b::C) -> Vec<crate::d::E> {\n\
            crate::g::h();\n\
            say!(\"{}\", 1, crate::i::J, other::crate_name);\n\
            }\n\
            macro_rules! m { () => { use $crate::{k, l::M}; } }\n";
        let expected = ["time:1", "b::C:2", "d::E:2", "g::h:3", "i::J:4", "k:6", "l:6"];
        assert_eq!(references(text), expected);
    }

    #[test]
    fn code_for_tests_and_visibilities_are_left_out() {
        let text = "pub(in crate::a) struct S;\n\
            #[cfg(test)] use crate::b::C;\n\
            impl S { #[cfg(test)] fn f() { crate::d::e(); } }\n\
            fn g() { #[cfg(test)] let h = crate::i::J; }\n\
            #[cfg(test)] mod tests { use crate::k::L; }\n";
        assert!(references(text).is_empty(), "{:?}", references(text));
    }
}
