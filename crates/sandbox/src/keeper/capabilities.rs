//! The rights of a process within its user namespace.

use rustix::io::{Errno, Result};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
};

/// What the inner process needs to finish its set-up: to mount `/proc`, to switch on the loopback interface, to give up
/// its rights.
const NEEDED: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// More capabilities than there are.
const MOST: u32 = 64;

/// Hands the needed rights on to the next program. A user other than 0 would lose them when it is started.
pub(super) fn hand_on() -> Result<()> {
    let mut sets = capabilities(None)?;
    for capability in NEEDED {
        sets.inheritable |= capability;
    }
    set_capabilities(None, sets)?;
    NEEDED.into_iter().try_for_each(|capability| configure_capability_in_ambient_set(capability, true))
}

/// Gives up all rights for good.
pub(super) fn give_up() -> Result<()> {
    clear_ambient_capability_set()?;
    empty_bounding_set()?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}

/// Gives up what a program could ever get. Without the right to do so, there is nothing to give up.
fn empty_bounding_set() -> Result<()> {
    for bit in 0..MOST {
        match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)) {
            // The kernel knows no more than this.
            Err(Errno::INVAL) => return Ok(()),
            // Not a right of this process, which has none to gain.
            Err(Errno::PERM) => return Ok(()),
            result => result?,
        }
    }
    Ok(())
}
