//! Changes of files outside.

use offshoot_sandbox::Confinement;

use crate::support::{complained, tree, workspaces};

/// The tests: each has a name and a script that changes the directory of its argument.
macro_rules! kept_outside {
    ($($name:ident: $script:literal,)*) => {$(
        #[test]
        fn $name() {
            for workspace in workspaces() {
                workspace.keeps_outside($script);
            }
        }
    )*};
}

kept_outside! {
    writing_a_file: "echo x > \"$1/file\"",
    appending_to_a_file: "echo x >> \"$1/file\"",
    creating_a_file: "echo x > \"$1/new\"",
    cutting_a_file: "truncate -s 0 \"$1/file\"",
    removing_a_file: "rm -f \"$1/file\" && test ! -e \"$1/file\"",
    creating_a_folder: "mkdir \"$1/new\"",
    removing_a_folder: "rmdir \"$1/empty\"",
    renaming_a_file: "mv \"$1/file\" \"$1/other\"",
    moving_a_file_out: "cp own mine && mv mine \"$1/mine\"",
    moving_a_file_in: "mv \"$1/file\" stolen && test ! -e \"$1/file\"",
    moving_a_folder_in: "mv \"$1/empty\" taken && test ! -e \"$1/empty\"",
    swapping_a_file: "cp own mine && mv -f mine \"$1/file\"",
    linking_a_file_in: "ln \"$1/file\" door && echo x > door",
    linking_a_file_in_and_writing: "ln \"$1/file\" door; echo x > door && grep -q x \"$1/file\"",
    linking_a_file_out: "ln own \"$1/own\"",
    linking_by_name_out: "ln -s own \"$1/soft\"",
    writing_through_a_link: "ln -sf \"$1/file\" door && echo x > door",
    writing_through_a_link_to_a_folder: "rm -rf door; ln -s \"$1\" door && echo x > door/new",
    writing_through_a_link_that_is_there: "echo x > \"$1/link\"",
    writing_from_there: "cd \"$1\" && echo x > file",
    writing_by_going_up: "echo x > \"../$(basename \"$1\")/file\"",
    writing_by_the_root_of_the_process: "echo x > \"/proc/self/root$1/file\"",
    writing_by_the_folder_of_the_process: "echo x > \"/proc/self/cwd/../$(basename \"$1\")/file\"",
    making_a_pipe: "mkfifo \"$1/pipe\"",
    writing_from_the_background: "(setsid sh -c 'echo x > \"$0/file\"' \"$1\" &) ; wait; sh -c 'for i in 1 2 3 4 5 6 7 8 9; do grep -q x \"$0/file\" && exit 0; sleep 0.1; done; exit 1' \"$1\"",
    writing_with_a_name_of_two_lines: "echo x > \"$1/a\nb\"",
    writing_with_a_name_that_is_no_text: "echo x > \"$1/$(printf '\\377')\"",
}

#[test]
fn a_link_put_in_the_place_of_a_writable_folder_leads_nowhere() {
    for workspace in workspaces() {
        let confinement = workspace.usual();
        std::fs::rename(workspace.path("work"), workspace.path("moved")).unwrap();
        std::os::unix::fs::symlink(workspace.path("held"), workspace.path("work")).unwrap();
        let kept = tree(&workspace.path("held"));
        let script = "echo x > file";
        let free = workspace.free("sh", &["-c", script]);
        assert!(free.status.success() && tree(&workspace.path("held")) != kept, "{free:?}");
        let kept = tree(&workspace.path("held"));
        let tried = workspace.confined_by(&confinement, "sh", &["-c", "echo y > file"]);
        assert_eq!(tried.status.code(), Some(126), "nothing is executed: {tried:?}");
        assert!(complained(&tried).contains("give its real path"), "{tried:?}");
        assert_eq!(tree(&workspace.path("held")), kept);
    }
}

#[test]
fn a_link_on_the_way_to_a_writable_folder_leads_nowhere() {
    for workspace in workspaces() {
        std::os::unix::fs::symlink(workspace.path("."), workspace.path("way")).unwrap();
        let by = Confinement::new([workspace.path("way/work")], [workspace.path("data")]).unwrap();
        let tried = workspace.confined_by(&by, "sh", &["-c", "echo y > file"]);
        assert_eq!(tried.status.code(), Some(126), "{tried:?}");
        assert!(!workspace.path("work/file").exists());
    }
}

#[test]
fn without_a_writable_folder_nothing_is_written() {
    for workspace in workspaces() {
        let script = ["-c", "echo x > own"];
        let by = Confinement::new([""; 0], [""; 0]).unwrap();
        let kept = tree(&workspace.path("work"));
        let tried = workspace.confined_by(&by, "sh", &script);
        assert_eq!(
            (tried.status.code(), tree(&workspace.path("work"))),
            (Some(2), kept),
            "{tried:?}"
        );
        assert!(workspace.free("sh", &script).status.success());
    }
}

#[test]
fn a_device_cannot_be_made() {
    for workspace in workspaces().iter().filter(|workspace| workspace.is_root()) {
        // The first disk, and what is not to be read of the kernel.
        for device in ["disk b 8 0", "memory c 1 1"] {
            let script = format!("mknod {device}");
            let free = workspace.free("sh", &["-c", &script]);
            assert!(free.status.success(), "{free:?}");
            let script = format!("mknod held-{device}");
            assert!(!workspace.confined("sh", &["-c", &script]).status.success(), "{device}");
        }
        for device in ["/dev/mem", "/dev/kmsg", "/proc/kcore"] {
            if std::fs::File::open(device).is_ok() {
                workspace.refuses_only(&["open", device]);
            }
        }
    }
}
