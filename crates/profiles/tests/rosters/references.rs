//! Profiles that extend others.

use offshoot_core::permissions::PermissionMode;

use crate::support::{ProjectDir, of};

#[test]
fn s11_2_missing_fields_come_from_the_extended_profile() {
    let place = ProjectDir::new();
    place.has("a.md", "---\nextends: b\ndescription: own\n---\n");
    place.has("b.md", "---\nextends: explore\nmodel: openai/gpt-5\nbudget: 1usd\n---\nb's words");
    let a = place.find("a").unwrap();
    assert_eq!(
        (&*a.description, &*a.prompt, a.budget.to_string()),
        ("own", "b's words", "1usd".to_owned())
    );
    assert_eq!(a.model.as_ref().unwrap().to_string(), "openai/gpt-5");
    // The rules of the extended profile apply as well.
    assert!(
        a.under.iter().any(|layer| layer.mode == PermissionMode::Plan && !layer.offers("write"))
    );
}

#[test]
fn s11_2_a_loop_of_references_is_named() {
    let place = ProjectDir::new();
    place.has("a.md", of("extends: b"));
    place.has("b.md", of("extends: c"));
    place.has("c.md", of("extends: b"));
    place.has("alone.md", of("extends: Alone"));
    assert!(place.broken("b").ends_with("profiles extend one another in a loop: b → c → b"));
    assert!(place.broken("a").contains("in a loop: b → c → b"), "{}", place.broken("a"));
    assert!(place.broken("alone").ends_with("in a loop: alone → alone"));
    assert_eq!(place.names(), ["explore", "lead", "verify", "work"]);
    assert!(place.wrong().len() >= 3);
}

#[test]
fn s11_2_a_chain_of_references_is_limited() {
    let place = ProjectDir::new();
    for n in 0..20 {
        place.has(&format!("p{n}.md"), of(&format!("extends: p{}", n + 1)));
    }
    place.has("p20.md", of("name: p20"));
    assert!(place.find("p10").is_ok());
    assert!(place.broken("p0").contains("more than 16 profiles extend one another in a row"));
}

#[test]
fn s11_2_a_reference_to_a_missing_or_broken_profile_is_refused() {
    let place = ProjectDir::new();
    place.has("a.md", of("extends: missing"));
    place.has("b.md", of("extends: c"));
    place.has("c.md", of("mode: yolo"));
    let told = place.broken("a");
    assert!(told.ends_with("a.md: it extends \"missing\", and there is no such profile"), "{told}");
    let told = place.broken("b");
    assert!(
        told.contains("it extends \"c\", which cannot be used") && told.contains("c.md:2:7"),
        "{told}"
    );
}

#[test]
fn s7_3_a_profile_of_the_user_extends_none_of_a_project() {
    let place = ProjectDir::new();
    place.has("mine.md", of("extends: explore"));
    place.brings("explore.md", "---\nname: explore\n---\nthe project's words");
    place.brings("theirs.md", of("extends: helper"));
    place.has("other.md", of("extends: theirs"));
    let mine = place.find("mine").unwrap();
    assert!(mine.prompt == "Do it." && mine.under.len() == 1);
    assert!(place.broken("other").contains("there is no such profile"));
}
