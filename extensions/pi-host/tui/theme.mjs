// The theme that components get: no colours. Clients show the lines as they are and need not strip escapes.

const same = (text) => String(text);

/** A theme whose every style leaves the text unchanged. */
export class PlainTheme {
  name = "plain";
  sourcePath = undefined;
  sourceInfo = undefined;

  fg(_color, text) {
    return same(text);
  }

  bg(_color, text) {
    return same(text);
  }

  bold(text) {
    return same(text);
  }

  dim(text) {
    return same(text);
  }

  italic(text) {
    return same(text);
  }

  underline(text) {
    return same(text);
  }

  inverse(text) {
    return same(text);
  }

  strikethrough(text) {
    return same(text);
  }

  getFgAnsi() {
    return "";
  }

  getBgAnsi() {
    return "";
  }

  getColorMode() {
    return "256color";
  }

  getThinkingBorderColor() {
    return same;
  }

  getBashModeBorderColor() {
    return same;
  }
}

/** The one theme. */
export const theme = new PlainTheme();

/** Style functions for Markdown components. */
export const markdownTheme = {
  heading: same, link: same, linkUrl: same, code: same, codeBlock: same, codeBlockBorder: same,
  quote: same, quoteBorder: same, hr: same, listBullet: same, bold: same, italic: same,
  strikethrough: same, underline: same,
  highlightCode: (code) => code.split("\n"),
};

/** Style functions for lists to choose from. */
export const selectListTheme = {
  selectedPrefix: same, selectedText: same, description: same, scrollInfo: same, noMatch: same,
};

/** Style functions for lists of settings. */
export const settingsListTheme = { label: same, value: same, description: same, cursor: "→ ", hint: same };

/** Style functions for editors. */
export const editorTheme = { borderColor: same, selectList: selectListTheme };
