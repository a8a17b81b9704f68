//! The pixels of an image: shrinking and turning.

use super::orientation::Orientation;

/// A decoded image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Picture {
    width: usize,
    height: usize,
    /// Bytes per pixel: one for grey or three for colour, plus one for alpha.
    channels: usize,
    bytes: Vec<u8>,
}

/// How a source pixel, or row, is shared between targets of the smaller picture: never more than two.
#[derive(Debug, Clone, Copy)]
struct Share {
    target: usize,
    weight: f32,
    /// The share of the next target.
    rest: f32,
    /// Whether the target is complete.
    is_last: bool,
}

impl Picture {
    /// Returns a picture of decoded bytes, row by row; `None` if their number does not match the size.
    pub(super) fn new(width: usize, height: usize, channels: usize, bytes: Vec<u8>) -> Option<Self> {
        let is_whole = width > 0 && height > 0 && (1..=4).contains(&channels);
        let expected = width.checked_mul(height)?.checked_mul(channels)?;
        (is_whole && bytes.len() == expected).then_some(Self { width, height, channels, bytes })
    }

    pub(super) fn size(&self) -> (usize, usize) {
        (self.width, self.height)
    }

    pub(super) fn channels(&self) -> usize {
        self.channels
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the picture with no side longer than `side`; each new pixel is the mean of those it covers.
    pub(super) fn shrunk(&self, side: usize) -> Self {
        let (longer, side) = (self.width.max(self.height), side.max(1));
        if longer <= side {
            return self.clone();
        }
        let scaled = |length: usize| ((length * side + longer / 2) / longer).max(1);
        let (width, height) = (scaled(self.width), scaled(self.height));
        let columns = shares(self.width, width);
        let mut bytes = Vec::with_capacity(width * height * self.channels);
        let (mut narrow, mut sums) = (vec![0.0; width * self.channels], vec![0.0; width * self.channels]);
        let rows = self.bytes.chunks_exact(self.width * self.channels);
        for (row, share) in rows.zip(shares(self.height, height)) {
            self.narrow(row, &columns, &mut narrow);
            add(&mut sums, &narrow, share.weight);
            if share.is_last {
                bytes.extend(sums.chunks_exact(self.channels).flat_map(|sums| self.mean(sums)));
                sums.fill(0.0);
                add(&mut sums, &narrow, share.rest);
            }
        }
        Self { width, height, channels: self.channels, bytes }
    }

    /// Sums the pixels of a row into a narrower one. Colours are weighted by alpha, so that the colour of transparent
    /// pixels does not show at the edges.
    fn narrow(&self, row: &[u8], columns: &[Share], sums: &mut [f32]) {
        sums.fill(0.0);
        for (pixel, share) in row.chunks_exact(self.channels).zip(columns) {
            let opacity = if self.has_alpha() { f32::from(pixel[self.channels - 1]) / 255.0 } else { 1.0 };
            let mut values = [0.0; 4];
            for (channel, (value, byte)) in values.iter_mut().zip(pixel).enumerate() {
                let is_alpha = self.has_alpha() && channel == self.channels - 1;
                *value = f32::from(*byte) * if is_alpha { 1.0 } else { opacity };
            }
            let start = share.target * self.channels;
            add(&mut sums[start..start + self.channels], &values, share.weight);
            if share.rest > 0.0 {
                add(&mut sums[start + self.channels..], &values[..self.channels], share.rest);
            }
        }
    }

    /// Returns the bytes of the pixel for the given sums.
    fn mean<'a>(&self, sums: &'a [f32]) -> impl Iterator<Item = u8> + use<'a> {
        let alpha = if self.has_alpha() { sums[sums.len() - 1] / 255.0 } else { 1.0 };
        let colours = if self.has_alpha() { sums.len() - 1 } else { sums.len() };
        sums.iter().enumerate().map(move |(channel, sum)| {
            let value = if channel < colours && alpha > 0.0 { sum / alpha } else { *sum };
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
            let byte = (value + 0.5) as u8;
            byte
        })
    }

    /// Returns the picture turned upright.
    pub(super) fn turned(self, orientation: Orientation) -> Self {
        if orientation == Orientation::default() {
            return self;
        }
        let (width, height) = orientation.size_of(self.size());
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for y in 0..height {
            for x in 0..width {
                let (x, y) = if orientation.swaps { (y, x) } else { (x, y) };
                let x = if orientation.mirrors_x { self.width - 1 - x } else { x };
                let y = if orientation.mirrors_y { self.height - 1 - y } else { y };
                let start = (y * self.width + x) * self.channels;
                bytes.extend_from_slice(&self.bytes[start..start + self.channels]);
            }
        }
        Self { width, height, channels: self.channels, bytes }
    }

    /// Returns the picture on a white background.
    pub(super) fn opaque(&self) -> Self {
        if !self.has_alpha() {
            return self.clone();
        }
        let channels = self.channels - 1;
        let on_white = |value: u8, alpha: u8| {
            let (value, alpha) = (u16::from(value), u16::from(alpha));
            u8::try_from((value * alpha + 255 * (255 - alpha) + 127) / 255).unwrap_or(u8::MAX)
        };
        let pixels = self.bytes.chunks_exact(self.channels);
        let bytes =
            pixels.flat_map(|pixel| pixel[..channels].iter().map(|value| on_white(*value, pixel[channels])));
        Self { channels, bytes: bytes.collect(), ..*self }
    }

    fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }
}

/// Adds the weighted values to the sums.
fn add(sums: &mut [f32], values: &[f32], weight: f32) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value * weight;
    }
}

/// Returns how `many` sources are shared between `fewer` targets. The shares of each target add up to one.
#[expect(clippy::cast_precision_loss, reason = "the width of an image")]
fn shares(many: usize, fewer: usize) -> Vec<Share> {
    // With a source `fewer` units long and a target `many`, everything is an integer.
    let share = |source: usize| {
        let (start, end) = (source * fewer, (source + 1) * fewer);
        let target = start / many;
        let border = (target + 1) * many;
        let weight = |length: usize| length as f32 / many as f32;
        Share {
            target,
            weight: weight(border.min(end) - start),
            rest: weight(end.saturating_sub(border)),
            is_last: end >= border,
        }
    };
    (0..many).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grey(width: usize, bytes: &[u8]) -> Picture {
        Picture::new(width, bytes.len() / width, 1, bytes.to_vec()).unwrap()
    }

    #[test]
    fn pixel_is_the_mean_of_those_it_covers() {
        let picture = grey(4, &[0, 100, 8, 8, 100, 200, 8, 9]);
        assert_eq!(picture.shrunk(2), grey(2, &[100, 8]));
        // One and a half pixels each.
        assert_eq!(grey(3, &[30, 60, 90]).shrunk(2), grey(2, &[40, 80]));
        assert_eq!(grey(1, &[7; 5000]).shrunk(2000), grey(1, &[7; 2000]));
        assert_eq!(picture.shrunk(4), picture);
    }

    #[test]
    fn transparent_pixels_have_no_colour() {
        let picture = Picture::new(2, 1, 4, vec![200, 100, 0, 255, 9, 9, 9, 0]).unwrap();
        assert_eq!(picture.shrunk(1).bytes, [200, 100, 0, 128]);
        let clear = Picture::new(2, 1, 2, vec![50, 0, 60, 0]).unwrap();
        assert_eq!(clear.shrunk(1).bytes, [0, 0]);
    }

    #[test]
    fn background_is_white() {
        let picture = Picture::new(3, 1, 2, vec![10, 255, 10, 0, 0, 128]).unwrap();
        assert_eq!(picture.opaque(), grey(3, &[10, 255, 127]));
    }

    #[test]
    fn pictures_are_turned_upright() {
        let turned = |number: u8, bytes: &[u8]| {
            let exif = [b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", &[number, 0, 0][..]].concat();
            grey(2, bytes).turned(Orientation::read(&exif))
        };
        // Upright, the rows are 1 2, 3 4, 5 6.
        let upright = grey(2, &[1, 2, 3, 4, 5, 6]);
        assert_eq!(turned(1, &[1, 2, 3, 4, 5, 6]), upright);
        assert_eq!(turned(2, &[2, 1, 4, 3, 6, 5]), upright);
        assert_eq!(turned(3, &[6, 5, 4, 3, 2, 1]), upright);
        assert_eq!(turned(4, &[5, 6, 3, 4, 1, 2]), upright);
        let sideways = grey(3, &[1, 3, 5, 2, 4, 6]);
        let exif = |number: u8| {
            [b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0", &[number, 0, 0][..]].concat()
        };
        assert_eq!(sideways.turned(Orientation::read(&exif(5))), upright);
        // A camera turned to the left stores its left side as the bottom.
        assert_eq!(grey(3, &[2, 4, 6, 1, 3, 5]).turned(Orientation::read(&exif(6))), upright);
        assert_eq!(grey(3, &[6, 4, 2, 5, 3, 1]).turned(Orientation::read(&exif(7))), upright);
        assert_eq!(grey(3, &[5, 3, 1, 6, 4, 2]).turned(Orientation::read(&exif(8))), upright);
    }

    #[test]
    fn wrong_number_of_bytes_is_refused() {
        assert_eq!(Picture::new(2, 2, 3, vec![0; 11]), None);
        assert_eq!(Picture::new(0, 0, 3, Vec::new()), None);
    }
}
