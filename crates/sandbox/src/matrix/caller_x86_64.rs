//! The instructions of x86-64.

use super::Entry;

pub(super) const ELF_MACHINE: u16 = 62;

/// `exit_group`.
const EXIT: u64 = 231;

/// The registers of the arguments: the prefix and the opcode that load 64 bits, and the byte that copies `rax`.
const NATIVE: [(u8, u8, u8); 6] = [
    (0x48, 0xbf, 0xc7), // rdi
    (0x48, 0xbe, 0xc6), // rsi
    (0x48, 0xba, 0xc2), // rdx
    (0x49, 0xba, 0xc2), // r10
    (0x49, 0xb8, 0xc0), // r8
    (0x49, 0xb9, 0xc1), // r9
];
const INTERRUPT: [(u8, u8, u8); 6] = [
    (0x48, 0xbb, 0xc3), // rbx
    (0x48, 0xb9, 0xc1), // rcx
    (0x48, 0xba, 0xc2), // rdx
    (0x48, 0xbe, 0xc6), // rsi
    (0x48, 0xbf, 0xc7), // rdi
    (0x48, 0xbd, 0xc5), // rbp
];

#[derive(Default)]
pub(super) struct Code {
    bytes: Vec<u8>,
    /// Where the distance to the end of the program, for a failed call, is yet to be written.
    failures: Vec<usize>,
}

impl Code {
    fn register(entry: Entry, register: usize) -> (u8, u8, u8) {
        match entry {
            Entry::Native => NATIVE[register],
            Entry::Interrupt => INTERRUPT[register],
        }
    }

    /// Loads a number into the register of an argument.
    pub fn load(&mut self, entry: Entry, register: usize, number: u64) {
        let (prefix, opcode, _) = Self::register(entry, register);
        self.bytes.extend([prefix, opcode]); // mov register, number
        self.bytes.extend(number.to_le_bytes());
    }

    /// Loads what is at an address into the register of an argument.
    pub fn load_from(&mut self, entry: Entry, register: usize, address: u64) {
        let (prefix, _, copy) = Self::register(entry, register);
        self.bytes.extend([0x48, 0xa1]); // mov rax, [address]
        self.bytes.extend(address.to_le_bytes());
        self.bytes.extend([prefix, 0x89, copy]); // mov register, rax
    }

    /// Makes the call, keeps its result at an address, and goes to the end if it failed.
    pub fn enter(&mut self, entry: Entry, number: u64, result: u64) {
        self.bytes.extend([0x48, 0xb8]); // mov rax, number
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend(match entry {
            Entry::Native => [0x0f, 0x05],    // syscall
            Entry::Interrupt => [0xcd, 0x80], // int 0x80
        });
        self.bytes.extend([0x48, 0xa3]); // mov [result], rax
        self.bytes.extend(result.to_le_bytes());
        self.bytes.extend([0x48, 0x3d]); // cmp rax, -4095
        self.bytes.extend((-4095i32).to_le_bytes());
        self.bytes.extend([0x0f, 0x83]); // jae, as unsigned numbers: an error
        self.failures.push(self.bytes.len());
        self.bytes.extend([0; 4]);
    }

    /// Ends the program: with 0, or with the error of the call that failed.
    pub fn finish(mut self) -> Vec<u8> {
        self.bytes.extend([0x31, 0xc0]); // xor eax, eax
        let end = self.bytes.len();
        for at in &self.failures {
            let distance = (end - at - 4) as u32;
            self.bytes[*at..*at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        self.bytes.extend([0x48, 0xf7, 0xd8]); // neg rax
        self.bytes.extend([0x48, 0x89, 0xc7]); // mov rdi, rax
        self.bytes.extend([0x48, 0xb8]); // mov rax, exit_group
        self.bytes.extend(EXIT.to_le_bytes());
        self.bytes.extend([0x0f, 0x05]); // syscall
        self.bytes
    }
}
