// Images: which files are some, and what of them a model can get.

import { open } from "node:fs/promises";

const BEGINNING = 4100;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** The most characters of an image as base64 that every provider takes. */
const LARGEST = 4.5 * 1024 * 1024;

const has = (bytes, text, at = 0) => bytes.toString("latin1", at, at + text.length) === text;

/** Tells whether a PNG file is a plain picture: one with a control chunk before the data is an animation. */
function isStillPng(bytes) {
  if (bytes.length < 16 || bytes.readUInt32BE(8) !== 13 || !has(bytes, "IHDR", 12)) return false;
  for (let at = 8; at + 8 <= bytes.length; at += bytes.readUInt32BE(at) + 12) {
    if (has(bytes, "acTL", at + 4)) return false;
    if (has(bytes, "IDAT", at + 4)) return true;
  }
  return true;
}

function isBitmap(bytes) {
  if (!has(bytes, "BM") || bytes.length < 26) return false;
  const size = bytes.readUInt32LE(2);
  const header = bytes.readUInt32LE(14);
  const isKnown = header === 12 || (header >= 40 && header <= 124);
  return isKnown && (size === 0 || size >= 26) && bytes.readUInt32LE(10) >= 14 + header;
}

/** Returns the MIME type of an image that models take, or null. */
export function detectImageMimeType(bytes) {
  if (bytes.length > 3 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) {
    return bytes[3] === 0xf7 ? null : "image/jpeg";
  }
  if (bytes.subarray(0, 8).equals(PNG)) return isStillPng(bytes) ? "image/png" : null;
  if (has(bytes, "GIF87a") || has(bytes, "GIF89a")) return "image/gif";
  if (has(bytes, "RIFF") && has(bytes, "WEBP", 8)) return "image/webp";
  return isBitmap(bytes) ? "image/bmp" : null;
}

/** Returns the MIME type of an image file that models take, or null. */
export async function detectSupportedImageMimeTypeFromFile(filePath) {
  const file = await open(filePath, "r");
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    return detectImageMimeType(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

/** Returns an image as a content block has it; undefined if it is too large. The host has no means to make it smaller. */
export function prepareImage(bytes, mimeType) {
  const data = Buffer.from(bytes).toString("base64");
  return data.length <= LARGEST ? { data, mimeType } : undefined;
}

/** Returns a note about an image that was made smaller, for models that name positions in it. */
export function formatDimensionNote(image) {
  if (!image.wasResized) return undefined;
  const scale = (image.originalWidth / image.width).toFixed(2);
  const from = `${image.originalWidth}x${image.originalHeight}`;
  const to = `${image.width}x${image.height}`;
  return `[Image: original ${from}, displayed at ${to}. Multiply coordinates by ${scale} to map to original image.]`;
}

/** Returns the width and height of an image, or undefined. */
function sizeOf(bytes, mimeType) {
  if (mimeType === "image/png") return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  if (mimeType === "image/gif") return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  if (mimeType === "image/bmp" && bytes.readUInt32LE(14) >= 40) {
    return { width: Math.abs(bytes.readInt32LE(18)), height: Math.abs(bytes.readInt32LE(22)) };
  }
  if (mimeType === "image/jpeg") return sizeOfJpeg(bytes);
  if (mimeType === "image/webp") return sizeOfWebp(bytes);
  return undefined;
}

function sizeOfJpeg(bytes) {
  for (let at = 2; at + 9 < bytes.length; at += 2 + bytes.readUInt16BE(at + 2)) {
    const marker = bytes[at + 1];
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (bytes[at] !== 0xff) return undefined;
    if (isFrame) return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
  }
  return undefined;
}

function sizeOfWebp(bytes) {
  if (has(bytes, "VP8X", 12)) return { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 };
  if (has(bytes, "VP8L", 12)) {
    const packed = bytes.readUInt32LE(21);
    return { width: (packed & 0x3fff) + 1, height: ((packed >>> 14) & 0x3fff) + 1 };
  }
  if (has(bytes, "VP8 ", 12)) return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  return undefined;
}

/** Returns an image that is within the limits already; null for one that is not: the host cannot make it smaller. */
export async function resizeImage(inputBytes, mimeType, options = {}) {
  const bytes = Buffer.from(inputBytes);
  const { maxWidth = 2000, maxHeight = 2000, maxBytes = LARGEST } = options;
  try {
    const size = sizeOf(bytes, mimeType);
    const data = bytes.toString("base64");
    if (!size || size.width > maxWidth || size.height > maxHeight || data.length > maxBytes) return null;
    return { data, mimeType, originalWidth: size.width, originalHeight: size.height, ...size, wasResized: false };
  } catch {
    return null;
  }
}

/** Returns an image as PNG if it is one; null for others: the host cannot convert images. */
export async function convertToPng(data, mimeType) {
  return mimeType === "image/png" ? { data, mimeType } : null;
}
