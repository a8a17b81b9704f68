//! The loopback interface of a network namespace, which is off at first.

use std::io;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with};

/// The kind of a message that changes an interface.
const RTM_NEWLINK: u16 = 16;

/// The flags of a request that is to be acknowledged.
const REQUEST_AND_ACKNOWLEDGE: u16 = 1 | 4;

/// The number of the loopback interface in every namespace.
const LOOPBACK: i32 = 1;

/// The flag of an interface that is on.
const UP: u32 = 1;

/// Where an acknowledgement has its error, after a header of 16 bytes.
const ERROR: std::ops::Range<usize> = 16..20;

/// Switches the loopback interface on.
pub(super) fn switch_on() -> io::Result<()> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    send(&socket, &request(), SendFlags::empty())?;
    let mut answer = [0; 512];
    let (_, length) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
    let Some(code) = answer[..length.min(answer.len())].get(ERROR) else {
        return Err(io::ErrorKind::UnexpectedEof.into());
    };
    let mut bytes = [0; 4];
    bytes.copy_from_slice(code);
    match i32::from_ne_bytes(bytes) {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

/// Returns the request: a header, then a description of the interface.
fn request() -> Vec<u8> {
    let mut description = Vec::new();
    // The address family, a byte of padding, the kind of device.
    description.extend([0; 4]);
    description.extend(LOOPBACK.to_ne_bytes());
    description.extend(UP.to_ne_bytes());
    // Which flags are changed.
    description.extend(UP.to_ne_bytes());
    let mut message = Vec::new();
    let length = u32::try_from(16 + description.len()).unwrap_or_default();
    message.extend(length.to_ne_bytes());
    message.extend(RTM_NEWLINK.to_ne_bytes());
    message.extend(REQUEST_AND_ACKNOWLEDGE.to_ne_bytes());
    // The number of the request, and the sender.
    message.extend(1_u32.to_ne_bytes());
    message.extend(0_u32.to_ne_bytes());
    message.extend(description);
    message
}
