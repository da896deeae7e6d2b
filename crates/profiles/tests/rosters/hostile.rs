//! Malformed and hostile files and directories.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::process::Command;

use crate::support::{ProjectDir, of, write};

/// Returns the error about the only unreadable file.
fn only(place: &ProjectDir) -> String {
    let wrong = place.wrong();
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    wrong[0].clone()
}

#[test]
fn s11_2_a_binary_file_is_reported() {
    let place = ProjectDir::new();
    place.brings("binary.md", b"\x7fELF\x02\x01\0\0\0");
    assert!(only(&place).ends_with("binary.md:1:7: there is a zero byte: this is no text"));
    place.brings("binary.md", b"---\nname: a\nmode: \xff\n---\n");
    assert!(only(&place).ends_with("binary.md:3:7: this is not UTF-8"), "{}", only(&place));
}

#[test]
fn s11_2_an_enormous_file_is_reported_and_not_read() {
    let place = ProjectDir::new();
    let path = place.project().join(".offshoot/agents/enormous.md");
    write(&path, of("name: enormous"));
    // A sparse file that is larger than memory.
    fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(only(&place).ends_with("enormous.md: it is larger than 65536 bytes"));
    assert!(place.find("explore").is_ok());
}

#[test]
fn s11_2_unclosed_front_matter_is_reported() {
    let place = ProjectDir::new();
    place.has("open.md", "---\nname: open\n\nDo it.\n");
    let told = place.broken("open");
    assert!(
        told.ends_with(
            "open.md:1:1: the front matter that begins here is not closed by a line `---`"
        )
    );
    place.has("open.md", "Do it.\n");
    assert!(place.broken("open").contains("open.md:1:1: the first line must be `---`"));
}

#[test]
fn special_files_are_reported_without_blocking() {
    let place = ProjectDir::new();
    let agents = place.project().join(".offshoot/agents");
    fs::create_dir_all(agents.join("folder.md")).unwrap();
    assert!(Command::new("mkfifo").arg(agents.join("fifo.md")).status().unwrap().success());
    let _socket = UnixListener::bind(agents.join("socket.md")).unwrap();
    symlink("/dev/zero", agents.join("device.md")).unwrap();
    let wrong = place.wrong();
    assert!(
        wrong[0].ends_with("device.md: it is a link that leads elsewhere, and is not followed")
    );
    for (told, name) in wrong[1..].iter().zip(["fifo.md", "folder.md", "socket.md"]) {
        assert!(told.ends_with(&format!("{name}: it is not a regular file")), "{told}");
    }
    assert_eq!(wrong.len(), 4);
    // Links in the user's directory are followed, but not to devices.
    symlink("/dev/zero", place.user().join("zero.md")).unwrap();
    assert!(place.broken("zero").ends_with("zero.md: it is not a regular file"));
}

#[test]
fn links_of_a_project_stay_in_their_directory() {
    let place = ProjectDir::new();
    write(&place.project().parent().unwrap().join("secret.md"), of("name: secret"));
    write(&place.project().join("other.md"), of("name: other"));
    let agents = place.project().join(".offshoot/agents");
    place.brings("real.md", of("name: real"));
    symlink("../../../secret.md", agents.join("up.md")).unwrap();
    symlink(place.project().join("other.md"), agents.join("absolute.md")).unwrap();
    symlink("loop.md", agents.join("loop.md")).unwrap();
    symlink("gone.md", agents.join("dangling.md")).unwrap();
    fs::write(agents.join("linked"), of("name: linked")).unwrap();
    symlink("./linked", agents.join("linked.md")).unwrap();
    assert_eq!(place.names(), ["explore", "lead", "linked", "real", "verify", "work"]);
    let wrong = place.wrong();
    assert_eq!(
        wrong.iter().filter(|told| told.contains("leads elsewhere")).count(),
        3,
        "{wrong:?}"
    );
    assert!(wrong.iter().any(|told| told.ends_with("dangling.md: it is not there")));
}

#[test]
fn a_link_in_place_of_the_directory_is_reported() {
    let place = ProjectDir::new();
    write(&place.project().parent().unwrap().join("away/agents/a.md"), of("name: a"));
    symlink("../away", place.project().join(".offshoot")).unwrap();
    assert!(place.find("a").is_err());
    assert!(only(&place).ends_with(".offshoot: it is not a folder, or a link to one"));
    // The directory cannot be trusted either.
    let refused = place.trust().add(&place.project()).unwrap_err().to_string();
    assert!(refused.contains("cannot be trusted"), "{refused}");
}

#[test]
fn links_in_the_users_directory_are_followed() {
    let place = ProjectDir::new();
    write(&place.project().parent().unwrap().join("dotfiles/mine.md"), of("name: mine"));
    let target = place.project().parent().unwrap().join("dotfiles/mine.md");
    symlink(target, place.user().join("mine.md")).unwrap();
    assert!(place.find("mine").is_ok());
}

#[test]
fn a_directory_of_many_profiles_is_read_up_to_the_limit() {
    let place = ProjectDir::new();
    for n in 0..300 {
        place.brings(&format!("p{n:03}.md"), of(""));
    }
    assert!(place.find("p255").is_ok());
    assert!(only(&place).contains("p256.md: it cannot be read: there are more than 256 profiles"));
}

#[test]
fn odd_file_names_do_no_harm() {
    let place = ProjectDir::new();
    let agents = place.project().join(".offshoot/agents");
    place.brings("a\nb.md", of("name: fine"));
    place.brings("x\ny.md", of("description: no name"));
    fs::write(agents.join(OsStr::from_bytes(b"\xff.md")), of("name: also-fine")).unwrap();
    fs::write(agents.join("README"), "no profile").unwrap();
    let names = place.names();
    assert!(names.contains(&"fine".to_owned()) && names.contains(&"also-fine".to_owned()));
    let told = only(&place);
    assert!(told.contains("x␊y.md: ") && told.contains("cannot name a profile"), "{told}");
    assert!(!told.contains('\n'), "{told}");
}

#[test]
fn a_bomb_of_aliases_is_refused_at_once() {
    let place = ProjectDir::new();
    let mut bomb = "name: bomb\nconfig:\n  a: &a [x]\n".to_owned();
    for (one, other) in ('a'..='y').zip('b'..='z') {
        bomb += &format!("  {other}: &{other} [{}*{one}]\n", format!("*{one}, ").repeat(9));
    }
    place.brings("bomb.md", of(&bomb));
    assert!(only(&place).contains("bomb.md:4:"), "{}", only(&place));
    assert!(only(&place).contains("are not taken"));
}

#[test]
fn line_ends_and_marks_of_other_systems_are_read() {
    let place = ProjectDir::new();
    place.brings("dos.md", "\u{feff}---\r\nname: dos\r\nmode: plan\r\n---\r\nDo\r\nit.\r\n");
    assert_eq!(place.find("dos").unwrap().prompt, "Do\nit.");
}
