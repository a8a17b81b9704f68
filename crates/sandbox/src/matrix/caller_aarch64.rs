//! The instructions of aarch64. Arguments are in `x0` to `x5`, the number of a call is in `x8`; `x9` holds addresses.

use super::Entry;

pub(super) const ELF_MACHINE: u16 = 183;

/// `exit_group`.
const EXIT: u64 = 94;

const NUMBER: u32 = 8;
const ADDRESS: u32 = 9;

#[derive(Default)]
pub(super) struct Code {
    words: Vec<u32>,
    /// The jumps to the end of the program, for a failed call, whose distance is yet to be written.
    failures: Vec<usize>,
}

impl Code {
    /// Loads a number into the register of an argument.
    pub fn load(&mut self, _: Entry, register: usize, number: u64) {
        self.set(register as u32, number);
    }

    /// Loads what is at an address into the register of an argument.
    pub fn load_from(&mut self, _: Entry, register: usize, address: u64) {
        self.set(ADDRESS, address);
        self.words.push(0xf940_0000 | ADDRESS << 5 | register as u32); // ldr register, [x9]
    }

    /// Makes the call, keeps its result at an address, and goes to the end if it failed.
    pub fn enter(&mut self, _: Entry, number: u64, result: u64) {
        self.set(NUMBER, number);
        self.words.push(0xd400_0001); // svc #0
        self.set(ADDRESS, result);
        self.words.push(0xf900_0000 | ADDRESS << 5); // str x0, [x9]
        self.words.push(0xb13f_fc1f); // cmn x0, #4095
        self.failures.push(self.words.len());
        self.words.push(0x5400_0002); // b.cs: an error
    }

    /// Ends the program: with 0, or with the error of the call that failed.
    pub fn finish(mut self) -> Vec<u8> {
        self.set(0, 0);
        let end = self.words.len();
        for at in &self.failures {
            self.words[*at] |= ((end - at) as u32) << 5;
        }
        self.words.push(0xcb00_03e0); // neg x0, x0
        self.set(NUMBER, EXIT);
        self.words.push(0xd400_0001); // svc #0
        self.words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Loads a register in four steps of 16 bits each.
    fn set(&mut self, register: u32, number: u64) {
        for step in 0..4u32 {
            let part = (number >> (16 * step)) as u32 & 0xffff;
            let opcode = if step == 0 { 0xd280_0000 } else { 0xf280_0000 }; // movz, movk
            self.words.push(opcode | step << 21 | part << 5 | register);
        }
    }
}
