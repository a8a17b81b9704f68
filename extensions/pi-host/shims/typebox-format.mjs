// `typebox/format` for pi's extensions.

import { FORMATS, formatCheck } from "../typebox/formats.mjs";
import { customFormats } from "../typebox/settings.mjs";

const allFormats = () => new Map([...Object.entries(FORMATS), ...customFormats]);

export const Clear = () => customFormats.clear();
export const Reset = () => customFormats.clear();
export const Entries = () => [...allFormats()];
export const Get = (format) => formatCheck(format);
export const Has = (format) => formatCheck(format) !== undefined;
export const Set = (format, check) => void customFormats.set(format, check);
export const Test = (format, value) => formatCheck(format)?.(value) ?? true;

export const IsDateTime = FORMATS["date-time"];
export const IsDate = FORMATS.date;
export const IsDuration = FORMATS.duration;
export const IsEmail = FORMATS.email;
export const IsHostname = FORMATS.hostname;
export const IsIdnEmail = FORMATS["idn-email"];
export const IsIdnHostname = FORMATS["idn-hostname"];
export const IsIPv4 = FORMATS.ipv4;
export const IsIPv6 = FORMATS.ipv6;
export const IsIri = FORMATS.iri;
export const IsIriReference = FORMATS["iri-reference"];
export const IsJsonPointer = FORMATS["json-pointer"];
export const IsJsonPointerUriFragment = FORMATS["json-pointer-uri-fragment"];
export const IsRegex = FORMATS.regex;
export const IsRelativeJsonPointer = FORMATS["relative-json-pointer"];
export const IsTime = FORMATS.time;
export const IsUri = FORMATS.uri;
export const IsUriReference = FORMATS["uri-reference"];
export const IsUriTemplate = FORMATS["uri-template"];
export const IsUrl = FORMATS.url;
export const IsUuid = FORMATS.uuid;

export const Format = {
  Clear, Reset, Entries, Get, Has, Set, Test, IsDateTime, IsDate, IsDuration, IsEmail, IsHostname, IsIdnEmail, IsIdnHostname, IsIPv4, IsIPv6, IsIri,
  IsIriReference, IsJsonPointer, IsJsonPointerUriFragment, IsRegex, IsRelativeJsonPointer, IsTime, IsUri, IsUriReference, IsUriTemplate, IsUrl,
  IsUuid,
};
export default Format;
