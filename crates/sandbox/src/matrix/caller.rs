//! Programs of a few system calls each, for calls that have no safe wrapper.
//!
//! A [`Caller`] is a list of calls. From it a static program is assembled: an ELF header, one segment that is readable,
//! writable and executable, and in it the instructions followed by their data. The program makes the calls in order, stops
//! at the first one that fails, and exits with the number of the error, or with 0. It links with nothing and starts with
//! nothing in memory but itself, so it is also the attempt to get out with a static binary.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use super::attempt::{Preparation as _, Stop, Tried};

#[cfg(target_arch = "aarch64")]
#[path = "caller_aarch64.rs"]
mod machine;
#[cfg(target_arch = "x86_64")]
#[path = "caller_x86_64.rs"]
mod machine;

/// Where the program is in memory. It is below 4 GB, so that 32-bit calls can point to it.
pub(super) const BASE: u64 = 0x40_0000;

/// The sizes of the ELF header and of its only program header.
const ELF_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const HEADERS: usize = ELF_HEADER + PROGRAM_HEADER;

/// The error of a program that ended in a way that tells no number.
const UNKNOWN: i32 = 255;

/// An argument of a call.
#[derive(Debug, Clone)]
pub(super) enum Argument {
    Number(u64),
    /// The address of these bytes.
    Bytes(Vec<u8>),
    /// The address of bytes, in which the address of other bytes is written at an offset.
    Pointing(Vec<u8>, Vec<(usize, Vec<u8>)>),
    /// The address of the bytes that an earlier call had, by the places of the call and of its argument.
    Earlier(usize, usize),
    /// The result of an earlier call, by its place in the list.
    Result(usize),
}

impl From<u64> for Argument {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<i32> for Argument {
    fn from(number: i32) -> Self {
        // Negative numbers, such as AT_FDCWD, are sign-extended as in C.
        Self::Number(i64::from(number).cast_unsigned())
    }
}

impl From<&Path> for Argument {
    fn from(path: &Path) -> Self {
        let mut bytes = path.as_os_str().as_encoded_bytes().to_vec();
        bytes.push(0);
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Argument {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

/// How a call enters the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    Native,
    /// `int 0x80`, with the numbers of 32-bit programs.
    #[cfg(target_arch = "x86_64")]
    Interrupt,
}

#[derive(Debug, Clone)]
struct Call {
    number: u64,
    arguments: Vec<Argument>,
    entry: Entry,
}

/// A list of calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Caller {
    calls: Vec<Call>,
}

impl Caller {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a call by its number in the C library.
    pub fn call<const N: usize>(self, number: libc::c_long, arguments: [Argument; N]) -> Self {
        self.with(number.cast_unsigned(), Vec::from(arguments), Entry::Native)
    }

    /// Adds a call with the number and the entry of 32-bit programs.
    #[cfg(target_arch = "x86_64")]
    pub fn interrupt<const N: usize>(self, number: u64, arguments: [Argument; N]) -> Self {
        self.with(number, Vec::from(arguments), Entry::Interrupt)
    }

    fn with(mut self, number: u64, arguments: Vec<Argument>, entry: Entry) -> Self {
        self.calls.push(Call { number, arguments, entry });
        self
    }

    /// Adds what appends a byte to a file: the visible proof that a program was not confined.
    pub fn then_write(self, path: &Path) -> Self {
        let flags = libc::O_WRONLY | libc::O_APPEND;
        let opened = self.calls.len();
        self.call(libc::SYS_openat, [libc::AT_FDCWD.into(), path.into(), flags.into(), 0.into()])
            .call(libc::SYS_write, [Argument::Result(opened), b"!".to_vec().into(), 1.into()])
    }

    /// Adds a wait without end.
    pub fn then_wait(self) -> Self {
        self.call(libc::SYS_ppoll, [0.into(), 0.into(), 0.into(), 0.into(), 0.into()])
    }

    /// Returns the program.
    pub fn assemble(&self) -> Vec<u8> {
        self.assemble_with(&[]).0
    }

    /// Returns the program with bytes that it does not use itself, and their address in its memory.
    pub fn assemble_with(&self, unused: &[u8]) -> (Vec<u8>, u64) {
        // Every instruction that loads an address has the same length whatever the address is, so the code of a first
        // round with made-up addresses tells where the data begins.
        let length = self.code(0, &mut Data::at(0)).len();
        let data_at = BASE + (HEADERS + length) as u64;
        let mut data = Data::at(data_at);
        let results = data.place(&vec![0; 8 * self.calls.len()]);
        let code = self.code(results, &mut data);
        let address = data.place(unused);
        let mut program = headers(HEADERS + code.len() + data.bytes.len());
        program.extend(code);
        program.extend(data.bytes);
        (program, address)
    }

    fn code(&self, results: u64, data: &mut Data) -> Vec<u8> {
        let mut code = machine::Code::default();
        let mut addresses = HashMap::new();
        for (place, call) in self.calls.iter().enumerate() {
            for (register, argument) in call.arguments.iter().enumerate() {
                match argument {
                    Argument::Number(number) => code.load(call.entry, register, *number),
                    Argument::Result(place) => {
                        code.load_from(call.entry, register, results + 8 * *place as u64);
                    }
                    Argument::Bytes(bytes) => {
                        let address = data.place(bytes);
                        addresses.insert((place, register), address);
                        code.load(call.entry, register, address);
                    }
                    Argument::Pointing(bytes, pointers) => {
                        let address = data.place_pointing(bytes, pointers);
                        addresses.insert((place, register), address);
                        code.load(call.entry, register, address);
                    }
                    Argument::Earlier(call_place, argument) => {
                        let address = addresses.get(&(*call_place, *argument)).copied().unwrap_or_default();
                        code.load(call.entry, register, address);
                    }
                }
            }
            code.enter(call.entry, call.number, results + 8 * place as u64);
        }
        code.finish()
    }

    /// Runs the program from a file in this folder.
    pub fn run_in(&self, folder: &Path) -> Tried {
        self.run_with(folder, Stdio::null())
    }

    /// Runs the program with this input.
    pub fn run_with(&self, folder: &Path, input: Stdio) -> Tried {
        let path = folder.join("caller");
        self.write_to(&path).prepared("writing a program")?;
        let mut command = Command::new(&path);
        verdict(command.stdin(input).stdout(Stdio::null()).status().prepared("starting a program")?)
    }

    /// Writes the program to a file.
    pub fn write_to(&self, path: &Path) -> io::Result<()> {
        write_program(path, &self.assemble())
    }
}

/// Writes a program to a file that can be executed.
pub(super) fn write_program(path: &Path, program: &[u8]) -> io::Result<()> {
    fs::write(path, program)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
}

/// Returns what the end of a program says about its calls.
pub(super) fn verdict(status: ExitStatus) -> Tried {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(UNKNOWN), _) => Err(Stop::Refused("an error without a number".to_owned())),
        (Some(number), _) => Err(io::Error::from_raw_os_error(number).into()),
        (None, Some(libc::SIGSYS)) => Err(Stop::Refused("killed by SIGSYS".to_owned())),
        (None, signal) => Err(Stop::Refused(format!("killed by signal {}", signal.unwrap_or_default()))),
    }
}

/// The data of a program, as it is placed behind the code.
struct Data {
    at: u64,
    bytes: Vec<u8>,
}

impl Data {
    fn at(at: u64) -> Self {
        Self { at, bytes: Vec::new() }
    }

    /// Places bytes, aligned for any structure, and returns their address.
    fn place(&mut self, bytes: &[u8]) -> u64 {
        let end = self.at + self.bytes.len() as u64;
        let padding = (16 - end % 16) % 16;
        self.bytes.resize(self.bytes.len() + padding as usize, 0);
        self.bytes.extend(bytes);
        end + padding
    }

    fn place_pointing(&mut self, bytes: &[u8], pointers: &[(usize, Vec<u8>)]) -> u64 {
        let mut bytes = bytes.to_vec();
        for (offset, target) in pointers {
            let address = self.place(target);
            bytes[*offset..*offset + 8].copy_from_slice(&address.to_le_bytes());
        }
        self.place(&bytes)
    }
}

/// Returns the headers of a program whose file has this many bytes.
fn headers(size: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADERS);
    // 64 bits, little-endian, version 1, System V.
    bytes.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    bytes.extend(2u16.to_le_bytes()); // An executable at fixed addresses.
    bytes.extend(machine::ELF_MACHINE.to_le_bytes());
    bytes.extend(1u32.to_le_bytes());
    bytes.extend((BASE + HEADERS as u64).to_le_bytes()); // Where it starts.
    bytes.extend((ELF_HEADER as u64).to_le_bytes()); // Where the program header is.
    bytes.extend(0u64.to_le_bytes()); // No sections.
    bytes.extend(0u32.to_le_bytes());
    for size in [ELF_HEADER as u16, PROGRAM_HEADER as u16, 1, 0, 0, 0] {
        bytes.extend(size.to_le_bytes());
    }
    bytes.extend(1u32.to_le_bytes()); // A segment to load,
    bytes.extend(7u32.to_le_bytes()); // to read, write and execute:
    bytes.extend(0u64.to_le_bytes()); // the whole file
    bytes.extend(BASE.to_le_bytes()); // at this address,
    bytes.extend(BASE.to_le_bytes());
    bytes.extend((size as u64).to_le_bytes());
    bytes.extend((size as u64).to_le_bytes());
    bytes.extend(0x1000u64.to_le_bytes()); // aligned to a page.
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_makes_its_calls_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "before").unwrap();
        Caller::new().then_write(&file).run_in(folder.path()).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "before!");
    }

    #[test]
    fn error_of_a_call_is_told_and_ends_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let missing = folder.path().join("missing");
        let caller = Caller::new().then_write(&missing).then_write(&file);
        let expected = io::Error::from_raw_os_error(libc::ENOENT).to_string();
        assert_eq!(caller.run_in(folder.path()), Err(Stop::Refused(expected)));
        assert_eq!(fs::read_to_string(&file).unwrap(), "");
    }

    #[test]
    fn pointers_within_data_are_addresses() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let flags = libc::O_WRONLY;
        let vector = [0u64.to_le_bytes(), 5u64.to_le_bytes()].concat();
        Caller::new()
            .call(libc::SYS_openat, [libc::AT_FDCWD.into(), file.as_path().into(), flags.into(), 0.into()])
            .call(
                libc::SYS_writev,
                [Argument::Result(0), Argument::Pointing(vector, vec![(0, b"hello".to_vec())]), 1.into()],
            )
            .run_in(folder.path())
            .unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "hello");
    }
}
