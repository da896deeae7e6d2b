//! Items of the syntax tree: attributes, names, and whether they exist for tests alone.

use proc_macro2::Ident;
use syn::punctuated::Punctuated;
use syn::{Attribute, ImplItem, Item, Meta, Token};

/// The attributes of an item.
pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of an `impl` block.
pub(crate) fn impl_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The name that an item declares, if it declares one.
pub(crate) fn name(item: &Item) -> Option<&Ident> {
    match item {
        Item::Const(item) => Some(&item.ident),
        Item::Enum(item) => Some(&item.ident),
        Item::Fn(item) => Some(&item.sig.ident),
        Item::Macro(item) => item.ident.as_ref(),
        Item::Mod(item) => Some(&item.ident),
        Item::Static(item) => Some(&item.ident),
        Item::Struct(item) => Some(&item.ident),
        Item::Trait(item) => Some(&item.ident),
        Item::Type(item) => Some(&item.ident),
        Item::Union(item) => Some(&item.ident),
        _ => None,
    }
}

/// Whether these attributes belong to code that is compiled for tests alone.
pub(crate) fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            list.parse_args().is_ok_and(|condition| requires_test(&condition))
        }
        _ => false,
    })
}

/// Whether a condition of `cfg` is false wherever `test` is.
fn requires_test(condition: &Meta) -> bool {
    let parts = |list: &syn::MetaList| {
        list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).unwrap_or_default()
    };
    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => parts(list).iter().any(requires_test),
        Meta::List(list) if list.path.is_ident("any") => parts(list).iter().all(requires_test),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_for_tests_alone_if_it_cannot_exist_without_them() {
        for (code, expected) in [
            ("#[cfg(test)] mod a {}", true),
            ("#[cfg(all(unix, test))] mod a {}", true),
            ("#[cfg(any(test, feature = \"a\"))] mod a {}", false),
            ("#[cfg(not(test))] mod a {}", false),
            ("#[test] fn a() {}", true),
            ("mod a {}", false),
        ] {
            let item: Item = syn::parse_str(code).unwrap();
            assert_eq!(is_test_only(attributes(&item)), expected, "{code}");
        }
    }
}
