// The string formats of JSON Schema.

import { customFormats } from "./settings.mjs";

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function isDate(text) {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = match.slice(1).map(Number);
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 && leap ? 29 : DAYS[month - 1];
  return days !== undefined && day >= 1 && day <= days;
}

function isTime(text, zoneRequired = true) {
  const match = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(z|[+-](\d{2}):(\d{2}))?$/i.exec(text);
  if (!match || (zoneRequired && match[4] === undefined)) return false;
  const [hour, minute, second] = match.slice(1, 4).map(Number);
  const [zoneHour, zoneMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)];
  if (hour > 23 || minute > 59 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  // A leap second exists only at the end of a day of universal time.
  const offset = (zoneHour * 60 + zoneMinute) * (match[4]?.startsWith("-") ? -1 : 1);
  const universal = (hour * 60 + minute - offset + 2 * 1440) % 1440;
  return second === 60 && universal === 1439;
}

function isDateTime(text) {
  const parts = text.split(/t/i);
  return parts.length === 2 && isDate(parts[0]) && isTime(parts[1]);
}

const DURATION_DATE = "(?:\\d+Y(?:\\d+M(?:\\d+D)?)?|\\d+M(?:\\d+D)?|\\d+D)";
const DURATION_TIME = "T(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)";
const DURATION = new RegExp(`^P(?:${DURATION_DATE}(?:${DURATION_TIME})?|${DURATION_TIME}|\\d+W)$`);

const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i;
const LABEL_ANY_SCRIPT = /^[\p{L}\p{N}](?:[\p{L}\p{N}\p{M}\u00b7\u30fb-]{0,61}[\p{L}\p{N}\p{M}])?$/u;

function isHostname(text, label = LABEL) {
  return text.length > 0 && text.length <= 253 && text.split(".").every((part) => label.test(part));
}

const isIdnHostname = (text) => isHostname(text.replace(/[\u3002\uff0e\uff61]/g, "."), LABEL_ANY_SCRIPT);

const LOCAL_PART = /^(?:[a-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[a-z0-9!#$%&'*+/=?^_`{|}~-]+)*|"(?:[^"\\]|\\[\x20-\x7e])*")$/i;
const LOCAL_PART_ANY_SCRIPT = /^[^\s@.]+(?:\.[^\s@.]+)*$/u;

function isEmail(text, local = LOCAL_PART, host = isHostname) {
  const at = text.lastIndexOf("@");
  if (at < 1 || !local.test(text.slice(0, at))) return false;
  const domain = text.slice(at + 1);
  if (!domain.startsWith("[")) return host(domain);
  if (!domain.endsWith("]")) return false;
  const address = domain.slice(1, -1);
  return address.startsWith("IPv6:") ? isIPv6(address.slice(5)) : isIPv4(address);
}

const isIdnEmail = (text) => isEmail(text, LOCAL_PART_ANY_SCRIPT, isIdnHostname);

function isIPv4(text) {
  const parts = text.split(".");
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256);
}

function isIPv6(text) {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  let count = groups.length;
  const last = groups.at(-1);
  if (last?.includes(".")) {
    if (!isIPv4(last) || text.endsWith("::")) return false;
    groups.pop();
    count += 1;
  }
  if (!groups.every((group) => /^[0-9a-f]{1,4}$/i.test(group))) return false;
  return halves.length === 2 ? count < 8 : count === 8;
}

const PERCENT = "%[0-9a-fA-F]{2}";
const URI_TEXT = new RegExp(`^(?:[-A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=]|${PERCENT})*$`);
const IRI_TEXT = new RegExp(`^(?:[-A-Za-z0-9._~:/?#\\[\\]@!$&'()*+,;=\\u00a0-\\ud7ff\\uf900-\\uffef\\u{10000}-\\u{efffd}]|${PERCENT})*$`, "u");
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

function isReference(text, allowed) {
  if (!allowed.test(text)) return false;
  if ((text.match(/#/g) ?? []).length > 1) return false;
  const rest = text.replace(SCHEME, "");
  const beforeQuery = rest.split(/[?#]/)[0];
  const authority = /^\/\/([^/]*)/.exec(beforeQuery)?.[1];
  const brackets = /[[\]]/;
  if (authority === undefined) return !brackets.test(beforeQuery) && (rest !== text || !/^[^/]*:/.test(beforeQuery));
  if (brackets.test(beforeQuery.slice(authority.length + 2))) return false;
  return isAuthority(authority);
}

function isAuthority(authority) {
  const match = /^(?:[^@[\]]*@)?(?:\[([^\]]+)\]|([^:@[\]]*))(?::\d*)?$/.exec(authority);
  if (!match) return false;
  return match[1] === undefined || isIPv6(match[1]) || /^v[0-9a-f]+\..+$/i.test(match[1]);
}

const isUriReference = (text) => isReference(text, URI_TEXT);
const isUri = (text) => SCHEME.test(text) && isUriReference(text);
const isIriReference = (text) => isReference(text, IRI_TEXT);
const isIri = (text) => SCHEME.test(text) && isIriReference(text);

function isUrl(text) {
  return /^(?:https?|ftp|wss?):\/\/[^\s/]+/i.test(text) && !/\s/.test(text) && URL.canParse(text);
}

const EXPRESSION = /^[+#./;?&=,!@|]?[\w.%]+(?::[1-9]\d{0,3}|\*)?(?:,[\w.%]+(?::[1-9]\d{0,3}|\*)?)*$/;

function isUriTemplate(text) {
  let valid = true;
  const literal = text.replace(/\{([^{}]*)\}/g, (_, expression) => {
    valid &&= EXPRESSION.test(expression);
    return "";
  });
  return valid && !/[{}\s"'<>\\^`|]/.test(literal) && !/%(?![0-9a-f]{2})/i.test(literal);
}

const isUuid = (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text);
const isJsonPointer = (text) => /^(?:\/(?:[^~/]|~[01])*)*$/.test(text);
const isRelativeJsonPointer = (text) => /^(?:0|[1-9]\d*)(?:#|(?:\/(?:[^~/]|~[01])*)*)$/.test(text);

function isJsonPointerUriFragment(text) {
  return text.startsWith("#") && URI_TEXT.test(text.slice(1)) && isJsonPointer(text.slice(1));
}

function isRegex(text) {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

/** The built-in formats. */
export const FORMATS = {
  "date-time": isDateTime,
  date: isDate,
  duration: (text) => DURATION.test(text),
  email: (text) => isEmail(text),
  hostname: (text) => isHostname(text),
  "idn-email": isIdnEmail,
  "idn-hostname": isIdnHostname,
  ipv4: isIPv4,
  ipv6: isIPv6,
  iri: isIri,
  "iri-reference": isIriReference,
  "json-pointer": isJsonPointer,
  "json-pointer-uri-fragment": isJsonPointerUriFragment,
  regex: isRegex,
  "relative-json-pointer": isRelativeJsonPointer,
  time: (text) => isTime(text),
  uri: isUri,
  "uri-reference": isUriReference,
  "uri-template": isUriTemplate,
  url: isUrl,
  uuid: isUuid,
};

/** Returns the check of a format, or undefined if nobody defined it. */
export function formatCheck(name) {
  return customFormats.get(name) ?? (Object.hasOwn(FORMATS, name) ? FORMATS[name] : undefined);
}
