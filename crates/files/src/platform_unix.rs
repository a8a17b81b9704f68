//! Opening files as Unix offers it.

use std::fs::{DirBuilder, File, FileType, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::error::{Error, FOLDER};

/// Has a FIFO without a writer open at once, and a terminal not become the controlling one.
pub(crate) fn do_not_block(options: &mut OpenOptions) {
    options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
}

/// Has a file that is created be readable for the user only.
pub(crate) fn make_private(options: &mut OpenOptions) {
    options.mode(0o600);
}

/// Makes a file readable for the user only.
pub(crate) fn restrict(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Creates a folder that only the user may enter, with its parents.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns the permission bits of a file.
pub(crate) fn mode(path: &Path) -> Option<u32> {
    Some(path.metadata().ok()?.mode() & 0o777)
}

/// Returns the error for a file that the system did not open. A socket and a FIFO without a reader are answered in the
/// same way as a device without a driver, and a folder cannot be opened for writing.
pub(crate) fn opening_failed(path: &Path, error: io::Error) -> Error {
    let is_of_another_kind =
        [Errno::NXIO, Errno::ISDIR].iter().any(|errno| error.raw_os_error() == Some(errno.raw_os_error()));
    if is_of_another_kind && let Ok(metadata) = path.metadata() {
        return Error::NotRegular { path: path.to_owned(), kind: kind(metadata.file_type()) };
    }
    Error::read(path, error)
}

/// Returns what a file is, in words.
pub(crate) fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        FOLDER
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Returns whether every user may write to it.
pub(crate) fn is_writable_by_others(metadata: &Metadata) -> bool {
    metadata.mode() & 0o002 != 0
}

/// Returns whether the kernel makes up the content, as it does in `/proc` and `/sys`: such files claim to be regular,
/// and some hold the environment of a process.
#[cfg(target_os = "linux")]
pub(crate) fn is_virtual(file: &File) -> io::Result<bool> {
    /// The numbers of proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf and nsfs.
    const NUMBERS: [i64; 9] = [
        0x9fa0,
        0x6265_6572,
        0x0027_e0eb,
        0x6367_7270,
        0x6462_6720,
        0x7472_6163,
        0x7363_6673,
        0xcafe_4a11,
        0x6e73_6673,
    ];
    // The width of the number differs between architectures.
    let number = rustix::fs::fstatfs(file)?.f_type as i64;
    Ok(NUMBERS.contains(&number))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_virtual(_: &File) -> io::Result<bool> {
    Ok(false)
}

/// Returns the path of what was opened, whatever the name stands for by now.
#[cfg(target_os = "linux")]
pub(crate) fn real_path(file: &File, _: &Path) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd as _;
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// Returns the path of what was opened, if the name still stands for it.
#[cfg(not(target_os = "linux"))]
pub(crate) fn real_path(file: &File, path: &Path) -> io::Result<PathBuf> {
    let real = path.canonicalize()?;
    let (opened, named) = (file.metadata()?, real.symlink_metadata()?);
    if (opened.dev(), opened.ino()) == (named.dev(), named.ino()) {
        Ok(real)
    } else {
        Err(io::Error::other("the file was exchanged while it was opened"))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use crate::{Error, open, open_by, open_within};

    use super::*;

    #[track_caller]
    fn check(path: &Path, kind: &str) {
        match open(path) {
            Err(Error::NotRegular { kind: found, .. }) => assert_eq!(found, kind),
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    #[test]
    fn private_files_and_folders_are_for_the_user_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        let lock = crate::Lock::acquire(&path, std::time::Duration::ZERO).unwrap();
        fs::write(folder.path().join("a/b/.file.new"), "left by a process that was killed").unwrap();
        lock.replace(b"secret").unwrap();
        for (name, expected) in [("a", 0o700), ("a/b", 0o700), ("a/b/file", 0o600), ("a/b/.file.lock", 0o600)]
        {
            assert_eq!(mode(&folder.path().join(name)), Some(expected), "{name}");
        }
        let public = folder.path().join("public");
        fs::write(&public, "").unwrap();
        restrict(&File::open(&public).unwrap()).unwrap();
        assert_eq!((mode(&public), mode(&folder.path().join("none"))), (Some(0o600), None));
    }

    #[test]
    fn only_regular_files_are_opened() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        check(&fifo, "a FIFO");
        let writing = open_by(OpenOptions::new().write(true), &fifo);
        assert!(matches!(writing, Err(Error::NotRegular { kind: "a FIFO", .. })), "{writing:?}");
        let writing = open_by(OpenOptions::new().append(true), folder.path());
        assert!(matches!(writing, Err(Error::NotRegular { kind: "a folder", .. })), "{writing:?}");
        let socket = folder.path().join("socket");
        let _listener = UnixListener::bind(&socket).unwrap();
        check(&socket, "a socket");
        check(Path::new("/dev/zero"), "a device");
        let link = folder.path().join("link");
        symlink("/dev/zero", &link).unwrap();
        check(&link, "a device");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn files_of_the_kernel_are_refused_through_links_too() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("AGENTS.md");
        symlink("/proc/self/environ", &link).unwrap();
        check(&link, "a file of the system");
        check(Path::new("/proc/self/environ"), "a file of the system");
    }

    #[test]
    fn links_are_followed_only_within_the_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("folder");
        fs::create_dir_all(folder.join("inner")).unwrap();
        fs::write(root.path().join("secret"), "s").unwrap();
        fs::write(folder.join("text"), "t").unwrap();
        for (target, link, is_allowed) in [
            ("../text", "inner/relative", true),
            ("../../secret", "inner/out", false),
            ("../secret", "up", false),
        ] {
            symlink(target, folder.join(link)).unwrap();
            let opened = open_within(&folder, &folder.join(link));
            match opened {
                Ok(_) => assert!(is_allowed, "{link}"),
                Err(Error::OutsideFolder { .. }) => assert!(!is_allowed, "{link}"),
                Err(error) => panic!("{link}: {error}"),
            }
        }
        symlink(root.path(), folder.join("linked-folder")).unwrap();
        let through = open_within(&folder, &folder.join("linked-folder/secret"));
        assert!(matches!(through, Err(Error::OutsideFolder { .. })), "{through:?}");
    }
}
