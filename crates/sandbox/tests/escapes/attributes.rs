//! Modes, owners, times, extended attributes and flags of files outside.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::support::{TestWorkspace, said, workspaces};

/// Sets attributes of the file it is given, and prints which it could.
const SETS: &str = "import ctypes, fcntl, os, struct, sys
path = sys.argv[1]
def flags():
    file = os.open(path, os.O_RDONLY)
    flags = struct.unpack('l', fcntl.ioctl(file, 0x80086601, bytes(8)))[0]
    fcntl.ioctl(file, 0x40086602, struct.pack('l', flags | 0x40))
def acl():
    entry = lambda tag, may, who: struct.pack('<HHI', tag, may, who)
    no_id = 0xffffffff
    acl = entry(1, 6, no_id) + entry(2, 7, 12345) + entry(4, 4, no_id)
    acl += entry(0x10, 7, no_id) + entry(0x20, 4, no_id)
    os.setxattr(path, 'system.posix_acl_access', struct.pack('<I', 2) + acl)
ways = {
    'flags': flags,
    'attribute': lambda: os.setxattr(path, 'user.test', b'value'),
    'list': acl,
    'mode': lambda: os.chmod(path, 0o640),
    'times': lambda: os.utime(path, (1, 1)),
    'owner': lambda: os.chown(path, os.getuid(), os.getgid()),
}
for way, change in ways.items():
    try:
        change()
    except OSError as error:
        continue
    print(way)";

fn set(workspace: &TestWorkspace, path: &Path, confined: bool) -> Vec<String> {
    let args = ["-c", SETS, path.to_str().unwrap()];
    let done = match confined {
        true => workspace.confined("python3", &args),
        false => workspace.free("python3", &args),
    };
    assert!(done.status.success(), "{done:?}");
    said(&done).lines().map(str::to_owned).collect()
}

#[test]
fn extended_attributes_lists_and_flags_outside_are_not_set() {
    for workspace in workspaces() {
        let free = set(&workspace, &workspace.path("free/file"), false);
        // Which of them there are depends on the file system.
        assert!(free.contains(&"mode".to_owned()) && free.len() >= 4, "{free:?}");
        let held = set(&workspace, &workspace.path("held/file"), true);
        for way in ["flags", "attribute", "list"] {
            assert!(!held.contains(&way.to_owned()), "{way}: {held:?}, {free:?}");
        }
    }
}

#[test]
fn copying_with_all_attributes_works() {
    for workspace in workspaces() {
        let script = "echo x > from && chmod 640 from && touch -d @7 from && cp -a from to && \
             cp -p from too && install -m 600 from tree && mkdir d && cp -a d e && \
             stat -c '%a %Y' to too && tar cf t.tar from && rm from && tar xf t.tar && cat from";
        let done = workspace.confined("sh", &["-c", script]);
        assert_eq!(said(&done), "640 7\n640 7\nx", "{done:?}");
        assert_eq!(workspace.path("work/to").metadata().unwrap().mtime(), 7);
    }
}
