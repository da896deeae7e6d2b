use super::*;

#[test]
fn s1_3_names_are_trimmed_and_compared_folded() {
    let a = Name::new(" Ｄocs ").unwrap();
    assert_eq!(a.as_str(), "Ｄocs");
    assert_eq!(a.key(), "docs");
    assert_eq!(a, Name::new("DOCS").unwrap());
}

#[test]
fn s1_3_bad_names_are_refused_with_the_reason() {
    assert_eq!(Name::new(" \t "), Err(NameError::Blank));
    assert_eq!(Name::new("a/b"), Err(NameError::Character('/')));
    assert_eq!(Name::new("a\u{7}b"), Err(NameError::Character('\u{7}')));
    assert_eq!(Name::new(&"é".repeat(65)), Err(NameError::TooLong(65)));
    assert!(Name::new(&"é".repeat(64)).is_ok());
    for id in ["018f3c2a-0000-7000-8000-000000000000", "018f3c2a000070008000000000000000"] {
        assert_eq!(Name::new(id), Err(NameError::Uuid));
    }
    for word in RESERVED {
        assert_eq!(Name::new(&word.to_uppercase()), Err(NameError::Reserved(word)));
    }
}

#[test]
fn s1_3_only_the_program_calls_a_task_lead() {
    for chosen in ["lead", " LEAD ", "ｌead"] {
        let name = Name::new(chosen).unwrap();
        assert_eq!(name.check_chosen(), Err(NameError::Reserved("lead")), "{chosen:?}");
    }
    assert_eq!(Name::new("lead-1").unwrap().check_chosen(), Ok(()));
}

#[test]
fn s1_3_a_slash_hidden_by_a_compatibility_form_is_refused() {
    assert_eq!(Name::new("a／b"), Err(NameError::Character('/')));
    assert_eq!(Name::new("ｐarent"), Err(NameError::Reserved("parent")));
}

#[test]
fn s1_3_an_invisible_name_is_blank() {
    for unseen in [
        "\u{200b}",
        "\u{202e}\u{202c}",
        "\u{2028}\u{2029}",
        "\u{3164}",
        "\u{2800} \u{2800}",
        "\u{fe0f}",
        "\u{e0041}",
        "\u{ad}\u{feff}",
    ] {
        assert_eq!(Name::new(unseen), Err(NameError::Blank), "{unseen:?}");
    }
}

#[test]
fn s1_3_a_character_that_hides_or_turns_the_text_is_refused() {
    for (name, bad) in [
        ("do\u{200b}cs", '\u{200b}'),
        ("docs\u{202e}", '\u{202e}'),
        ("\u{2066}docs", '\u{2066}'),
        ("do\u{2028}cs", '\u{2028}'),
        ("do\u{ad}cs", '\u{ad}'),
        ("\u{feff}docs", '\u{feff}'),
    ] {
        assert_eq!(Name::new(name), Err(NameError::Unseen(bad)), "{name:?}");
    }
    for fine in ["größe", "ドキュメント", "документы", "docs ✔\u{fe0f}", "한글"]
    {
        assert!(Name::new(fine).is_ok(), "{fine}");
    }
}

#[test]
fn numbered_names_read_as_stem_and_number() {
    assert_eq!(Name::numbered("scan", 0).as_str(), "scan-0");
    assert_eq!(Name::numbered("Scan", u64::MAX).key(), "scan-18446744073709551615");
}

#[test]
fn stored_names_come_back_equal() {
    let name = Name::new("Ｄocs").unwrap();
    let text = serde_json::to_string(&name).unwrap();
    let back: Name = serde_json::from_str(&text).unwrap();
    assert_eq!((back.as_str(), back.key()), (name.as_str(), name.key()));
}

proptest::proptest! {
    #[test]
    fn s1_3_folding_is_stable(text in "\\PC{0,80}") {
        if let Ok(name) = Name::new(&text) {
            let again = Name::new(name.key());
            // A folded name may exceed the limit, but never folds differently.
            if let Ok(again) = again {
                proptest::prop_assert_eq!(again.key(), name.key());
            }
            proptest::prop_assert!(name.as_str().chars().count() <= NAME_LIMIT);
        }
    }
}
