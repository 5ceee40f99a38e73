//! Archives that are truncated, changed or made to do harm.

use std::io::Write;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{bundled, members, run};
use crate::support::recording::Recording;

/// A bundle of these members, in this order.
fn pack(out: &Path, members: &[(&str, &[u8], tar::EntryType)]) {
    let mut archive =
        tar::Builder::new(zstd::Encoder::new(std::fs::File::create(out).unwrap(), 1).unwrap());
    for (path, bytes, kind) in members {
        let mut header = tar::Header::new_ustar();
        let name = &mut header.as_mut_bytes()[..path.len()];
        name.copy_from_slice(path.as_bytes());
        header.set_size(bytes.len() as u64);
        header.set_entry_type(*kind);
        header.set_mode(0o600);
        header.set_cksum();
        archive.append(&header, *bytes).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

fn manifest(files: &str) -> String {
    [r#"{"schema":"railscope.bundle/1","tool":"x","host":{"name":"n"},"files":["#, files, "]}"]
        .concat()
}

fn file(path: &str, bytes: usize) -> String {
    let fields =
        [r#"{"path":""#, path, r#"","role":"nccl_log","name":"x","bytes":"#, &bytes.to_string()];
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    [&fields.concat(), r#","sha256":""#, empty, r#""}"#].concat()
}

#[track_caller]
fn refused(path: &Path, why: &str) {
    let output = run(&["analyze"], &[path.to_owned()]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(why) && !said.contains("panicked"), "{why}: {said}");
}

#[test]
fn what_an_archive_should_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.railscope.tar.zst");
    let regular = tar::EntryType::Regular;
    let one = manifest(&file("a", 0));
    let escape = "../../escape";
    for (members, why) in [
        (
            vec![("manifest.json", one.as_bytes(), regular), (escape, b"", regular)],
            "is not in the manifest",
        ),
        (
            vec![("manifest.json", one.as_bytes(), regular), ("a", b"x", regular)],
            "is not what the manifest says",
        ),
        (
            vec![("manifest.json", one.as_bytes(), regular), ("a", b"", tar::EntryType::Symlink)],
            "is not a regular file",
        ),
        (vec![("manifest.json", one.as_bytes(), regular)], "member a is missing"),
        (vec![("manifest.json", b"{", regular)], "manifest.json is not valid"),
        (
            vec![("manifest.json", br#"{"schema":"railscope.bundle/9"}"#, regular)],
            "use a later release",
        ),
        (
            vec![(
                "manifest.json",
                manifest(&[&file("a", 0)[..], ",", &file("a", 0)].concat()).as_bytes(),
                regular,
            )],
            "lists a twice",
        ),
        (
            vec![(
                "manifest.json",
                manifest(&vec![file("a", 0); 600].join(",")).as_bytes(),
                regular,
            )],
            "at most 512",
        ),
        (
            vec![("manifest.json", manifest(&file("a", 1 << 42)).as_bytes(), regular)],
            "more than 1 TiB",
        ),
    ] {
        pack(&path, &members);
        refused(&path, why);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_truncated_or_changed_bundle_says_so() {
    let job = Recording::unpack("ranks2-2.27.5");
    let out = job.folder().join("job.railscope.tar.zst");
    bundled(&job, &out);
    let whole = std::fs::read(&out).unwrap();
    let cut = job.folder().join("cut.railscope.tar.zst");
    for part in [2, 3, 10] {
        std::fs::write(&cut, &whole[..whole.len() - whole.len() / part]).unwrap();
        refused(&cut, "truncated");
    }
    let mut members = members(&out);
    let (_, log) = members.iter_mut().find(|(path, _)| path.starts_with("nccl_log")).unwrap();
    log[10] ^= 1;
    let regular = tar::EntryType::Regular;
    let changed: Vec<_> =
        members.iter().map(|(path, bytes)| (path.as_str(), &bytes[..], regular)).collect();
    pack(&cut, &changed);
    refused(&cut, "is not what the manifest says");
}

#[test]
fn a_bundle_may_be_bundled_again() {
    let job = Recording::unpack("ranks2-2.27.5");
    let [one, two] = ["1", "2"].map(|n| job.folder().join([n, ".railscope.tar.zst"].concat()));
    bundled(&job, &one);
    let arguments = ["analyze", "--format", "json", "--bundle", two.to_str().unwrap()];
    super::succeeds(&arguments, std::slice::from_ref(&one));
    let [first, second]: [Vec<_>; 2] = [one, two].map(|path: PathBuf| members(&path));
    assert!(first == second);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..2048), is_packed: bool) {
        let source = if is_packed { zstd::encode_all(&bytes[..], 1).unwrap() } else { bytes };
        let read = railscope::bundle::read::read(&source[..], |_| Ok(None::<Vec<u8>>));
        prop_assert!(read.is_err());
    }
}
