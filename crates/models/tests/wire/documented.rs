//! The table of providers in the guide, held against their specifications.

use offshoot_models::{Keys, Provider};

/// The rows of the guide's table, by the provider of their first column.
fn rows() -> Vec<(Provider, String)> {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agents.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let rows = guide.lines().filter_map(|line| {
        let (name, _) = line.strip_prefix("| `")?.split_once('/')?;
        Some((Provider::named(name)?, line.to_owned()))
    });
    rows.collect()
}

#[test]
fn the_guide_has_a_row_for_every_provider_with_its_variables() {
    let rows = rows();
    for provider in Provider::ALL.iter().filter(|provider| **provider != Provider::Scripted) {
        let spec = provider.spec();
        let row = rows.iter().find(|(known, _)| known == provider);
        let (_, row) = row.unwrap_or_else(|| panic!("docs/agents.md has no row for {provider}"));
        for variable in spec.key_variables.iter().copied().chain(spec.address_variable) {
            assert!(row.contains(&format!("`{variable}`")), "{variable} is missing in {row}");
        }
        for other in Keys::names().filter(|name| row.contains(&format!("`{name}`"))) {
            let own = spec.key_variables.contains(&other) || spec.address_variable == Some(other);
            assert!(own, "{provider} does not read {other}: {row}");
        }
    }
}
