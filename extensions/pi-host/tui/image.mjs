// Images: their sizes, the sequences of terminals that show them, and the line of text in their place.
//
// A client's screen is text, so images are off; extensions can switch them on to write the sequences
// themselves.

import { homedir } from "node:os";

import { truncateToWidth } from "./cut.mjs";
import { hyperlink } from "./escapes.mjs";

const NONE = { images: null, trueColor: false, hyperlinks: false };
const CELL = { widthPx: 9, heightPx: 18 };
const KITTY_CHUNK = 4096;

let cell = CELL;
let overrides = {};
let capabilities;

export function getCellDimensions() {
  return cell;
}

export function setCellDimensions(dimensions) {
  cell = dimensions;
}

/** Returns what the screen can show: nothing but text. */
export function detectCapabilities() {
  return { ...NONE };
}

export function getCapabilities() {
  capabilities ??= { ...NONE, ...overrides };
  return capabilities;
}

export function resetCapabilitiesCache() {
  capabilities = undefined;
}

export function setCapabilityOverrides(changed) {
  overrides = { ...changed };
  capabilities = undefined;
}

export function setCapabilities(changed) {
  capabilities = changed;
}

/** Returns an id for an image, at random because several modules may number theirs. */
export function allocateImageId() {
  return 1 + Math.floor(Math.random() * 0xfffffffe);
}

/** Returns the sequence of the Kitty protocol that shows the image. */
export function encodeKitty(base64Data, options = {}) {
  const control = ["a=T", "f=100", "q=2"];
  if (options.moveCursor === false) control.push("C=1");
  if (options.columns) control.push(`c=${options.columns}`);
  if (options.rows) control.push(`r=${options.rows}`);
  if (options.imageId) control.push(`i=${options.imageId}`);
  if (base64Data.length <= KITTY_CHUNK) return `\x1b_G${control.join(",")};${base64Data}\x1b\\`;
  let sequence = "";
  for (let start = 0; start < base64Data.length; start += KITTY_CHUNK) {
    const more = start + KITTY_CHUNK < base64Data.length ? "m=1" : "m=0";
    const keys = start === 0 ? `${control.join(",")},${more}` : more;
    sequence += `\x1b_G${keys};${base64Data.slice(start, start + KITTY_CHUNK)}\x1b\\`;
  }
  return sequence;
}

export function deleteKittyImage(imageId) {
  return `\x1b_Ga=d,d=I,i=${imageId},q=2\x1b\\`;
}

export function deleteAllKittyImages() {
  return "\x1b_Ga=d,d=A,q=2\x1b\\";
}

/** Returns the sequence of iTerm2 that shows the image. */
export function encodeITerm2(base64Data, options = {}) {
  const parts = [`inline=${options.inline === false ? 0 : 1}`, `size=${Buffer.byteLength(base64Data, "base64")}`];
  if (options.width !== undefined) parts.push(`width=${options.width}`);
  if (options.height !== undefined) parts.push(`height=${options.height}`);
  if (options.name) parts.push(`name=${Buffer.from(options.name).toString("base64")}`);
  if (options.preserveAspectRatio === false) parts.push("preserveAspectRatio=0");
  return `\x1b]1337;File=${parts.join(";")}:${base64Data}\x07`;
}

function cellSize(image, maxColumns, maxRows, cells) {
  const columns = Math.max(1, Math.floor(maxColumns));
  const rows = maxRows === undefined ? Infinity : Math.max(1, Math.floor(maxRows));
  const width = Math.max(1, image.widthPx);
  const height = Math.max(1, image.heightPx);
  const scale = Math.min((columns * cells.widthPx) / width, (rows * cells.heightPx) / height);
  return {
    columns: Math.max(1, Math.min(columns, Math.ceil((width * scale) / cells.widthPx))),
    rows: Math.max(1, Math.min(rows, Math.ceil((height * scale) / cells.heightPx))),
  };
}

/** Returns how many rows the image takes at this width. */
export function calculateImageRows(imageDimensions, targetWidthCells, cellDimensions = CELL) {
  return cellSize(imageDimensions, targetWidthCells, undefined, cellDimensions).rows;
}

/** Returns the sequence that shows the image and its size in cells, or null if images are off. */
export function renderImage(base64Data, imageDimensions, options = {}) {
  const { images } = getCapabilities();
  if (!images) return null;
  const { columns, rows } = cellSize(imageDimensions, options.maxWidthCells ?? 80, options.maxHeightCells, cell);
  if (images === "kitty") {
    const { imageId, moveCursor } = options;
    return { sequence: encodeKitty(base64Data, { columns, rows, imageId, moveCursor }), columns, rows, imageId };
  }
  const preserveAspectRatio = options.preserveAspectRatio ?? true;
  return { sequence: encodeITerm2(base64Data, { width: columns, height: "auto", preserveAspectRatio }), columns, rows };
}

// A damaged file has no size.
function dimensionsOf(base64Data, read) {
  try {
    const size = read(Buffer.from(base64Data, "base64"));
    return size ? { widthPx: size[0], heightPx: size[1] } : null;
  } catch {
    return null;
  }
}

export function getPngDimensions(base64Data) {
  return dimensionsOf(base64Data, (data) =>
    data.readUInt32BE(0) === 0x89504e47 ? [data.readUInt32BE(16), data.readUInt32BE(20)] : undefined,
  );
}

export function getGifDimensions(base64Data) {
  return dimensionsOf(base64Data, (data) =>
    /^GIF8[79]a$/.test(data.toString("latin1", 0, 6)) ? [data.readUInt16LE(6), data.readUInt16LE(8)] : undefined,
  );
}

export function getJpegDimensions(base64Data) {
  return dimensionsOf(base64Data, (data) => {
    if (data.readUInt16BE(0) !== 0xffd8) return undefined;
    let position = 2;
    while (position < data.length - 9) {
      if (data[position] !== 0xff) {
        position += 1;
        continue;
      }
      const marker = data[position + 1];
      // Frame headers: baseline, extended, progressive.
      if (marker >= 0xc0 && marker <= 0xc2) return [data.readUInt16BE(position + 7), data.readUInt16BE(position + 5)];
      const length = data.readUInt16BE(position + 2);
      if (length < 2) return undefined;
      position += 2 + length;
    }
    return undefined;
  });
}

export function getWebpDimensions(base64Data) {
  return dimensionsOf(base64Data, (data) => {
    if (data.length < 30 || data.toString("latin1", 0, 4) !== "RIFF" || data.toString("latin1", 8, 12) !== "WEBP") return undefined;
    switch (data.toString("latin1", 12, 16)) {
      case "VP8 ":
        return [data.readUInt16LE(26) & 0x3fff, data.readUInt16LE(28) & 0x3fff];
      case "VP8L": {
        const bits = data.readUInt32LE(21);
        return [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1];
      }
      case "VP8X":
        return [data.readUIntLE(24, 3) + 1, data.readUIntLE(27, 3) + 1];
      default:
        return undefined;
    }
  });
}

const READERS = {
  "image/png": getPngDimensions,
  "image/jpeg": getJpegDimensions,
  "image/gif": getGifDimensions,
  "image/webp": getWebpDimensions,
};

export function getImageDimensions(base64Data, mimeType) {
  return READERS[mimeType]?.(base64Data) ?? null;
}

/** Returns the text that stands for an image: its file, type and size. */
export function imageFallback(mimeType, dimensions, filename) {
  const parts = [];
  if (filename) {
    const home = homedir();
    const below = home && filename.startsWith(home) ? filename.slice(home.length) : undefined;
    const name = below === "" || below?.startsWith("/") || below?.startsWith("\\") ? `~${below}` : filename;
    parts.push(getCapabilities().hyperlinks && filename.startsWith("/") ? hyperlink(name, `file://${encodeURI(filename)}`) : name);
  }
  parts.push(`[${mimeType}]`);
  if (dimensions) parts.push(`${dimensions.widthPx}x${dimensions.heightPx}`);
  return `[Image: ${parts.join(" ")}]`;
}

/** Shows an image where images are on, else a line of text about it. */
export class Image {
  #data;
  #mimeType;
  #theme;
  #options;
  #dimensions;

  constructor(base64Data, mimeType, theme, options = {}, dimensions) {
    this.#data = base64Data;
    this.#mimeType = mimeType;
    this.#theme = theme;
    this.#options = options;
    this.#dimensions = dimensions || getImageDimensions(base64Data, mimeType) || { widthPx: 800, heightPx: 600 };
  }

  getImageId() {
    return this.#options.imageId;
  }

  invalidate() {}

  render(width) {
    const maxWidthCells = Math.max(1, Math.min(width - 2, this.#options.maxWidthCells ?? 60));
    const square = Math.max(1, Math.ceil((maxWidthCells * cell.widthPx) / cell.heightPx));
    const image = renderImage(this.#data, this.#dimensions, {
      maxWidthCells,
      maxHeightCells: this.#options.maxHeightCells ?? square,
      imageId: this.#options.imageId,
      moveCursor: false,
    });
    if (image) return [image.sequence, ...Array(image.rows - 1).fill("")];
    const text = imageFallback(this.#mimeType, this.#dimensions, this.#options.filename);
    return [truncateToWidth(this.#theme.fallbackColor(text), width)];
  }
}
