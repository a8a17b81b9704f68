//! The EXIF orientation of a JPEG: how the camera was held.

/// The EXIF tag of the orientation.
const TAG: u16 = 0x0112;

/// How to turn the stored picture upright: mirror it, then transpose it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Orientation {
    /// Whether left and right are swapped.
    pub(super) mirrors_x: bool,
    /// Whether top and bottom are swapped.
    pub(super) mirrors_y: bool,
    /// Whether rows and columns are swapped.
    pub(super) swaps: bool,
}

impl Orientation {
    /// Parses the EXIF data of a JPEG. Invalid data means upright.
    pub(super) fn read(exif: &[u8]) -> Self {
        let (mirrors_x, mirrors_y, swaps) = match find(exif) {
            Some(2) => (true, false, false),
            Some(3) => (true, true, false),
            Some(4) => (false, true, false),
            Some(5) => (false, false, true),
            Some(6) => (false, true, true),
            Some(7) => (true, true, true),
            Some(8) => (true, false, true),
            _ => (false, false, false),
        };
        Self { mirrors_x, mirrors_y, swaps }
    }

    /// Returns the size of a picture after turning it.
    pub(super) fn size_of(self, (width, height): (usize, usize)) -> (usize, usize) {
        if self.swaps { (height, width) } else { (width, height) }
    }
}

/// Returns the numeric value of the orientation.
fn find(exif: &[u8]) -> Option<u16> {
    let is_little = exif.starts_with(b"II");
    let short = |at: usize| {
        let bytes = exif.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let (high, low) = if is_little { (short(at + 2)?, short(at)?) } else { (short(at)?, short(at + 2)?) };
        Some(usize::from(high) << 16 | usize::from(low))
    };
    let list = long(4)?;
    let entries = (0..usize::from(short(list)?)).map(|entry| list + 2 + entry * 12);
    let place = entries.into_iter().find(|place| short(*place) == Some(TAG))?;
    short(place + 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orientation_is_found_in_both_byte_orders() {
        let little =
            b"II\x2a\0\x08\0\0\0\x02\0\x0f\x01\x02\0\0\0\0\0\0\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        let big = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0";
        let expected = Orientation { mirrors_x: false, mirrors_y: true, swaps: true };
        assert_eq!(Orientation::read(little), expected);
        assert_eq!(Orientation::read(big), expected);
    }

    #[test]
    fn invalid_exif_means_upright() {
        for exif in [&b""[..], b"II", b"MM\0\x2a\xff\xff\xff\xff", b"II\x2a\0\x08\0\0\0\xff\xff"] {
            assert_eq!(Orientation::read(exif), Orientation::default(), "{exif:?}");
        }
    }
}
