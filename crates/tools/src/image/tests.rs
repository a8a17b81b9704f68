//! Images that exceed the limits in every way.

use super::*;
use codec::MAX_SCANS;
use picture::Picture;

/// Returns an image of noise, which no format compresses well.
fn noise(width: usize, height: usize, channels: usize) -> Picture {
    let mut state = 1_u32;
    let bytes = (0..width * height * channels).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    Picture::new(width, height, channels, bytes.collect()).unwrap()
}

/// Returns a gradient from black to white.
fn gradient(width: usize, height: usize) -> Picture {
    let bytes = (0..height).flat_map(|_| (0..width).flat_map(move |x| [(x * 255 / width) as u8; 3]));
    Picture::new(width, height, 3, bytes.collect()).unwrap()
}

#[track_caller]
fn smaller(bytes: &[u8]) -> (Resized, Picture) {
    let Ok(Fitted::Resized(copy)) = fit(bytes) else { panic!("{:?}", fit(bytes)) };
    assert!(copy.bytes.len() <= MAX_BYTES);
    assert_eq!(mime_type(&copy.bytes), Some(copy.mime_type));
    let format = Format::of(&copy.bytes).unwrap();
    let (picture, _) = format.decode(&copy.bytes, MAX_PIXELS).unwrap();
    assert_eq!(picture.size(), copy.shown);
    (copy, picture)
}

fn content(bytes: &[u8]) -> Content {
    Content::Image { data: BASE64.encode(bytes), mime_type: mime_type(bytes).unwrap_or_default().to_owned() }
}

#[test]
fn first_bytes_identify_the_format() {
    assert_eq!(mime_type(b"\x89PNG\r\n\x1a\n\0\0\0\r"), Some("image/png"));
    assert_eq!(mime_type(b"\xff\xd8\xff\xe0"), Some("image/jpeg"));
    assert_eq!(mime_type(b"GIF89a..."), Some("image/gif"));
    assert_eq!(mime_type(b"RIFF\x10\0\0\0WEBPVP8 "), Some("image/webp"));
    assert_eq!(mime_type(b"RIFF\x10\0\0\0WAVE"), None);
    assert_eq!(mime_type(b""), None);
}

#[test]
fn fitting_image_is_unchanged() {
    for format in [Format::Png, Format::Jpeg] {
        let bytes = format.encode(&gradient(2000, 20)).unwrap();
        assert_eq!(fit(&bytes), Ok(Fitted::Unchanged));
        assert!(fits(&content(&bytes)));
    }
    // The provider decides about images that cannot be judged here.
    for bytes in [&b"GIF89a"[..], b"hi", b"\x89PNG\r\n\x1a\n\0rest", b"\xff\xd8\xff"] {
        assert_eq!(fit(bytes), Ok(Fitted::Unchanged), "{bytes:?}");
        assert!(fits(&content(bytes)), "{bytes:?}");
    }
}

#[test]
fn base64_padding_is_optional() {
    let mut png = Format::Png.encode(&gradient(2400, 2)).unwrap();
    png.resize(png.len() / 3 * 3 + 4, 0);
    let data = BASE64.encode(&png);
    let image = Content::Image {
        data: data.strip_suffix("==").unwrap().to_owned(),
        mime_type: "image/png".to_owned(),
    };
    assert!(!fits(&image));
    assert_eq!(fit_all(String::new(), vec![image]).1.len(), 1);
}

#[test]
fn wide_image_is_resized_in_its_format_and_noted() {
    for format in [Format::Png, Format::Jpeg] {
        let bytes = format.encode(&gradient(3000, 90)).unwrap();
        assert!(!fits(&content(&bytes)));
        let (copy, picture) = smaller(&bytes);
        assert_eq!((copy.original, copy.shown), ((3000, 90), (2000, 60)));
        assert_eq!(copy.mime_type, format.mime_type());
        assert_eq!(
            copy.note().unwrap(),
            "[Image: original 3000x90, displayed at 2000x60. Multiply coordinates by 1.50 to map to original image.]"
        );
        let middle = picture.bytes()[(30 * 2000 + 1000) * 3];
        assert!((126..=129).contains(&middle), "{middle}");
    }
}

#[test]
fn image_with_too_many_bytes_is_recompressed_then_resized() {
    let bytes = Format::Png.encode(&noise(100, 80, 3)).unwrap();
    let within = |max_bytes: usize| match fit_into(max_bytes, &bytes) {
        Ok(Fitted::Resized(copy)) => {
            assert!(copy.bytes.len() <= max_bytes);
            (copy.mime_type, copy.shown, copy.note().is_some())
        }
        other => panic!("{other:?}"),
    };
    // PNG does not compress noise.
    let jpeg = Format::Jpeg.encode(&noise(100, 80, 3)).unwrap().len();
    assert_eq!(within(bytes.len() - 1), ("image/jpeg", (100, 80), false));
    assert_eq!(within(jpeg), ("image/jpeg", (100, 80), false));
    assert_eq!(within(jpeg - 1).1, (70, 56));
    assert_eq!(within(jpeg / 3).1, (50, 40));
    assert_eq!(fit_into(100, &bytes), Err(Unfit::TooLarge));
}

#[test]
fn all_pixel_formats_are_decoded() {
    for channels in 1..=4 {
        let (copy, picture) = smaller(&Format::Png.encode(&noise(2200, 3, channels)).unwrap());
        assert_eq!((copy.mime_type, picture.channels()), ("image/png", channels));
    }
    let (_, grey) = smaller(&Format::Jpeg.encode(&noise(2200, 3, 1)).unwrap());
    assert_eq!(grey.channels(), 3);
}

#[test]
fn photograph_is_turned_upright() {
    let plain = Format::Jpeg.encode(&gradient(2400, 120)).unwrap();
    let exif = b"\xff\xe1\0\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let bytes = [&plain[..2], exif, &plain[2..]].concat();
    let (copy, picture) = smaller(&bytes);
    assert_eq!((copy.original, copy.shown), ((120, 2400), (100, 2000)));
    // The former left side is on top.
    let at = |y: usize| picture.bytes()[(y * 100 + 50) * 3];
    assert!(at(5) < 10 && at(1995) > 245, "{} {}", at(5), at(1995));
}

#[test]
fn decompression_bomb_is_not_decoded() {
    let mut bytes = Format::Png.encode(&gradient(10, 10)).unwrap();
    for side in [16, 20] {
        bytes[side..side + 4].copy_from_slice(&60_000_u32.to_be_bytes());
    }
    let checksum = crc(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(fit(&bytes), Err(Unfit::TooLarge));
    let mut bytes = Format::Jpeg.encode(&gradient(10, 10)).unwrap();
    let frame = bytes.windows(2).position(|pair| pair == [0xff, 0xc0]).unwrap();
    bytes[frame + 5..frame + 9].copy_from_slice(&[0xff; 4]);
    assert_eq!(fit(&bytes), Err(Unfit::TooLarge));
}

/// Returns the checksum of a chunk of a PNG.
fn crc(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    };
    !bytes.iter().fold(u32::MAX, step)
}

#[test]
fn unresizable_image_is_omitted_and_noted() {
    let png = Format::Png.encode(&gradient(2400, 3)).unwrap();
    let gif = [&b"GIF89a"[..], &vec![0; MAX_BYTES]].concat();
    let broken = &png[..60];
    let small = Format::Png.encode(&gradient(4, 4)).unwrap();
    let (text, kept) = fit_all(
        "Look".to_owned(),
        vec![content(&gif), content(&small), Content::text("a document"), content(broken), content(&png)],
    );
    let omitted = "[Image omitted: could not be converted to a supported inline image format.]";
    let resized = "[Image: original 2400x3, displayed at 2000x3. Multiply coordinates by 1.20 to map to original image.]";
    assert_eq!(text, format!("Look\n\n{omitted}\n\n{omitted}\n\n{resized}"));
    assert_eq!(kept[..2], [content(&small), Content::text("a document")]);
    assert_eq!(kept.len(), 3);
    assert_eq!(fit_all(String::new(), vec![content(broken)]).0, omitted);
    assert_eq!(
        Unfit::TooLarge.note(),
        "[Image omitted: could not be resized below the inline image size limit.]"
    );
}

#[test]
fn arbitrary_bytes_never_panic() {
    let mut state = 7_u32;
    let mut random = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below
    };
    let images = [
        Format::Png.encode(&gradient(2010, 9)).unwrap(),
        Format::Png.encode(&noise(2010, 2, 2)).unwrap(),
        Format::Jpeg.encode(&gradient(2010, 17)).unwrap(),
        Format::Jpeg.encode(&noise(2010, 2, 1)).unwrap(),
    ];
    for image in images {
        for _ in 0..60 {
            let mut bytes = image.clone();
            for _ in 0..=random(6) {
                let place = random(bytes.len().min(900));
                bytes[place] = random(256) as u8;
            }
            bytes.truncate(bytes.len() - random(3) * random(bytes.len() / 3));
            let _ = fit(&bytes);
            fits(&content(&bytes));
        }
    }
}

/// Returns a grey progressive JPEG that refines its pixels in `scans` passes, each of which costs as much as the first.
fn progressive(width: u16, height: u16, scans: usize) -> Vec<u8> {
    let segment = |marker: u8, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker], &length[..], data].concat()
    };
    let [height, width] = [height, width].map(u16::to_be_bytes);
    let blocks = usize::from(u16::from_be_bytes(width)).div_ceil(8)
        * usize::from(u16::from_be_bytes(height)).div_ceil(8);
    // One code of one bit: no difference, and the end of a block.
    let codes = |class: u8| [&[class, 1][..], &[0; 15], &[0]].concat();
    let zeros = vec![0; blocks.div_ceil(8)];
    let mut file = vec![0xff, 0xd8];
    file.extend(segment(0xdb, &[&[0][..], &[1; 64]].concat()));
    file.extend(segment(0xc2, &[&[8][..], &height, &width, &[1, 1, 0x11, 0]].concat()));
    file.extend(segment(0xc4, &codes(0)));
    file.extend(segment(0xc4, &codes(0x10)));
    file.extend(segment(0xda, &[1, 1, 0, 0, 0, 0]));
    file.extend(&zeros);
    for _ in 1..scans {
        file.extend(segment(0xda, &[1, 1, 0, 1, 63, 0]));
        file.extend(&zeros);
    }
    file.extend([0xff, 0xd9]);
    file
}

#[test]
fn jpeg_that_is_refined_without_end_is_not_decoded() {
    assert_eq!(smaller(&progressive(2400, 80, 10)).0.shown, (2000, 67));
    assert_eq!(fit(&progressive(2400, 80, MAX_SCANS + 1)), Err(Unfit::Unreadable));
}
