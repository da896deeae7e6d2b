//! The names that a Rust file declares.

use proc_macro2::Ident;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Field, ItemConst, ItemEnum, ItemMacro, ItemMod, ItemStatic, ItemStruct, ItemTrait,
    ItemType, ItemUnion, PatIdent, Signature, TypeParam, UseRename, Variant,
};

use super::rust_file::RustFile;
use super::token::{self, SourceToken};

/// The sort of thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameKind {
    /// A struct, enum, union, trait or alias.
    Type,
    /// A module.
    Module,
    /// A function, field, variant, variable, constant or parameter.
    Value,
    /// The name under which serde reads and writes something.
    Serde,
}

/// A name at the place that declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredName {
    /// The name.
    pub(crate) name: String,
    /// The sort of thing it stands for.
    pub(crate) kind: NameKind,
    /// The line, counted from one.
    pub(crate) line: usize,
}

/// Every name that a file declares, in tests too.
///
/// A module with a file of its own is not among them; the file has its name.
///
/// The identifiers inside a macro that stands for items count as declared values: which of them
/// the macro declares cannot be seen.
pub(crate) fn declared_names(file: &RustFile) -> Vec<DeclaredName> {
    let mut visitor = NameVisitor { found: Vec::new() };
    visitor.visit_file(&file.syntax);
    visitor.found
}

struct NameVisitor {
    found: Vec<DeclaredName>,
}

impl NameVisitor {
    fn add(&mut self, ident: &Ident, kind: NameKind) {
        let line = ident.span().start().line;
        self.found.push(DeclaredName { name: ident.to_string(), kind, line });
    }
}

impl<'s> Visit<'s> for NameVisitor {
    fn visit_item_struct(&mut self, item: &'s ItemStruct) {
        self.add(&item.ident, NameKind::Type);
        visit::visit_item_struct(self, item);
    }

    fn visit_item_enum(&mut self, item: &'s ItemEnum) {
        self.add(&item.ident, NameKind::Type);
        visit::visit_item_enum(self, item);
    }

    fn visit_item_union(&mut self, item: &'s ItemUnion) {
        self.add(&item.ident, NameKind::Type);
        visit::visit_item_union(self, item);
    }

    fn visit_item_trait(&mut self, item: &'s ItemTrait) {
        self.add(&item.ident, NameKind::Type);
        visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'s ItemType) {
        self.add(&item.ident, NameKind::Type);
        visit::visit_item_type(self, item);
    }

    fn visit_item_mod(&mut self, item: &'s ItemMod) {
        if item.content.is_some() {
            self.add(&item.ident, NameKind::Module);
        }
        visit::visit_item_mod(self, item);
    }

    fn visit_item_const(&mut self, item: &'s ItemConst) {
        self.add(&item.ident, NameKind::Value);
        visit::visit_item_const(self, item);
    }

    fn visit_item_static(&mut self, item: &'s ItemStatic) {
        self.add(&item.ident, NameKind::Value);
        visit::visit_item_static(self, item);
    }

    fn visit_signature(&mut self, signature: &'s Signature) {
        self.add(&signature.ident, NameKind::Value);
        visit::visit_signature(self, signature);
    }

    fn visit_field(&mut self, field: &'s Field) {
        field.ident.iter().for_each(|ident| self.add(ident, NameKind::Value));
        visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'s Variant) {
        self.add(&variant.ident, NameKind::Value);
        visit::visit_variant(self, variant);
    }

    fn visit_pat_ident(&mut self, pattern: &'s PatIdent) {
        self.add(&pattern.ident, NameKind::Value);
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_type_param(&mut self, parameter: &'s TypeParam) {
        self.add(&parameter.ident, NameKind::Value);
        visit::visit_type_param(self, parameter);
    }

    fn visit_use_rename(&mut self, rename: &'s UseRename) {
        self.add(&rename.rename, NameKind::Value);
    }

    fn visit_item_macro(&mut self, item: &'s ItemMacro) {
        item.ident.iter().for_each(|ident| self.add(ident, NameKind::Value));
        for token in token::flatten(&item.mac.tokens) {
            if let SourceToken::Ident(ident) = token {
                self.add(&ident, NameKind::Value);
            }
        }
    }

    /// Takes the value of `rename = "…"` in an attribute of serde.
    fn visit_attribute(&mut self, attribute: &'s Attribute) {
        let Ok(list) = attribute.meta.require_list() else { return };
        if !list.path.is_ident("serde") {
            return;
        }
        for triple in token::flatten(&list.tokens).windows(3) {
            if let [SourceToken::Ident(key), equals, SourceToken::Literal(literal)] = triple
                && key == "rename"
                && equals.is('=')
                && let syn::Lit::Str(name) = syn::Lit::new(literal.clone())
            {
                let line = literal.span().start().line;
                self.found.push(DeclaredName { name: name.value(), kind: NameKind::Serde, line });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::architecture::text_file::TextFile;

    #[test]
    fn names_are_found_where_they_are_declared_not_where_they_are_used() {
        let text = "use std::mem as memory;\n\
            mod inner { struct Type<Param> { #[serde(rename = \"key\")] field: Used } }\n\
            enum Choice { Variant }\n\
            fn function(parameter: Used) { let Used { bound, .. } = used(|closure| used); }\n\
            table! { row }\n";
        let file = TextFile::new("a.rs".to_owned(), text.to_owned());
        let found = declared_names(&RustFile::parse(file).unwrap());
        let found: Vec<_> = found.iter().map(|name| (name.name.as_str(), name.kind)).collect();
        assert_eq!(
            found,
            [
                ("memory", NameKind::Value),
                ("inner", NameKind::Module),
                ("Type", NameKind::Type),
                ("Param", NameKind::Value),
                ("field", NameKind::Value),
                ("key", NameKind::Serde),
                ("Choice", NameKind::Type),
                ("Variant", NameKind::Value),
                ("function", NameKind::Value),
                ("parameter", NameKind::Value),
                ("bound", NameKind::Value),
                ("closure", NameKind::Value),
                ("row", NameKind::Value),
            ]
        );
    }
}
