//! Packs the files of the host for pi's extensions into one compressed file, which the program contains.

use std::env;
use std::error::Error;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};

/// The best that the format can do; the files are small and compressed once.
const LEVEL: u8 = 10;

const FOLDER: &str = "../../extensions/pi-host";

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write by its environment")]
fn main() -> Result<(), Box<dyn Error>> {
    let output = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?);
    let folder = Path::new(FOLDER);
    let mut paths = Vec::new();
    collect(folder, &mut paths)?;
    paths.sort();
    let mut packed = Vec::new();
    for path in &paths {
        let content = fs::read(path)?;
        let name = path.strip_prefix(folder)?.to_str().ok_or("the name of a file is not UTF-8")?;
        // A name, the length of the content and the content.
        packed.extend_from_slice(format!("{name}\n{}\n", content.len()).as_bytes());
        packed.extend_from_slice(&content);
    }
    let mut hasher = DefaultHasher::new();
    packed.hash(&mut hasher);
    fs::write(output.join("pi_host.zlib"), miniz_oxide::deflate::compress_to_vec_zlib(&packed, LEVEL))?;
    fs::write(output.join("pi_host.version"), format!("{:016x}", hasher.finish()))?;
    Ok(())
}

/// Adds the files of a folder and of those in it.
fn collect(folder: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed={}", folder.display());
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if matches!(path.extension().and_then(|ending| ending.to_str()), Some("mjs" | "json")) {
            println!("cargo::rerun-if-changed={}", path.display());
            paths.push(path);
        }
    }
    Ok(())
}
