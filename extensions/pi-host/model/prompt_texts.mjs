// Prompts made of templates with arguments, and of skills.

import { dirname } from "node:path";

/** Returns the arguments in a text. Quotes hold spaces together. */
export function parseCommandArgs(text) {
  const words = [];
  let word = "";
  let quote = "";
  for (const character of text) {
    if (quote) {
      if (character === quote) quote = "";
      else word += character;
    } else if (character === '"' || character === "'") {
      quote = character;
    } else if (character === " " || character === "\t") {
      if (word) words.push(word);
      word = "";
    } else {
      word += character;
    }
  }
  return word ? [...words, word] : words;
}

/** Returns a template with its placeholders filled in. */
export function substituteArgs(content, given) {
  const all = given.join(" ");
  return content.replace(/\$(?:(\d+)|\{@:(\d+)(?::(\d+))?\}|(ARGUMENTS|@))/g, (_, number, from, count, whole) => {
    if (number !== undefined) return given[Number(number) - 1] ?? "";
    if (whole) return all;
    const start = Math.max(0, Number(from) - 1);
    return given.slice(start, count === undefined ? undefined : start + Number(count)).join(" ");
  });
}

/** Returns the prompt that a template and arguments make. */
export function formatPromptTemplateInvocation(template, given = []) {
  return substituteArgs(template.content, given);
}

/** Returns the prompt that a skill and further instructions make. */
export function formatSkillInvocation({ name, filePath, content }, instructions) {
  const place = `References are relative to ${dirname(filePath)}.`;
  const block = `<skill name="${name}" location="${filePath}">\n${place}\n\n${content}\n</skill>`;
  return instructions ? `${block}\n\n${instructions}` : block;
}
