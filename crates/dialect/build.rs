//! Compresses the finished schemas in the repository, which the program prints.

use std::env;
use std::error::Error;
use std::fs;
use std::path::Path;

/// The best that the format can do; the schemas are small and compressed once.
const LEVEL: u8 = 10;

#[expect(clippy::disallowed_methods, reason = "cargo tells a build script where to write by its environment")]
fn main() -> Result<(), Box<dyn Error>> {
    let output = env::var_os("OUT_DIR").ok_or("cargo sets OUT_DIR")?;
    let folder = "../../schema";
    println!("cargo::rerun-if-changed={folder}");
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if let (Some("json"), Some(name)) =
            (path.extension().and_then(|extension| extension.to_str()), path.file_stem())
        {
            println!("cargo::rerun-if-changed={}", path.display());
            let compressed = miniz_oxide::deflate::compress_to_vec_zlib(&fs::read(&path)?, LEVEL);
            fs::write(Path::new(&output).join(name).with_extension("zlib"), compressed)?;
        }
    }
    Ok(())
}
