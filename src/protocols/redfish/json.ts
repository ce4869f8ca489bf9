import { Fault } from '../../core/errors.ts';

/** What a service sent, of any shape: read it only with the functions here, which never throw. */
export type Json = unknown;

const maximumDepth = 64;
const maximumText = 1_024;

/** The object in a reply. Anything else, or one nested deeper than any Redfish resource, is a Fault. */
export function parseResource(bytes: Buffer, from: string): Readonly<Record<string, Json>> {
  if (deeperThan(bytes, maximumDepth)) {
    throw new Fault('garbled', `${from} is nested deeper than ${maximumDepth} levels, which is no Redfish resource.`);
  }
  let value: Json;
  try {
    value = JSON.parse(bytes.toString('utf8').replace(/^\uFEFF/, ''));
  } catch {
    throw new Fault('garbled', `${from} is not JSON: "${cleanText(bytes.toString('latin1', 0, 60)) ?? ''}".`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('garbled', `${from} is not a JSON object.`);
  }
  return value as Readonly<Record<string, Json>>;
}

/** Few brackets cannot nest deep, and counting them is the quicker test. */
function hasMoreBrackets(bytes: Buffer, limit: number): boolean {
  let count = 0;
  for (const bracket of [0x7b, 0x5b]) {
    for (let i = bytes.indexOf(bracket); i >= 0; i = bytes.indexOf(bracket, i + 1)) if (++count > limit) return true;
  }
  return false;
}

function deeperThan(bytes: Buffer, limit: number): boolean {
  if (!hasMoreBrackets(bytes, limit)) return false;
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i];
    if (quoted) {
      if (byte === 0x5c) i++;
      else if (byte === 0x22) quoted = false;
    } else if (byte === 0x22) quoted = true;
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth--;
  }
  return false;
}

/** The member at the end of a path of names, undefined wherever the path breaks off. */
export function at(value: Json, ...names: readonly string[]): Json {
  let here = value;
  for (const name of names) {
    if (typeof here !== 'object' || here === null) return undefined;
    here = (here as Record<string, Json>)[name];
  }
  return here;
}

/** Text without control characters and outer blanks; undefined if nothing is left. */
export function textAt(value: Json, ...names: readonly string[]): string | undefined {
  const found = at(value, ...names);
  return typeof found === 'string' ? cleanText(found) : undefined;
}

/** Some services write numbers as text. */
export function numberAt(value: Json, ...names: readonly string[]): number | undefined {
  const found = at(value, ...names);
  if (typeof found === 'number') return Number.isFinite(found) ? found : undefined;
  return typeof found === 'string' && /^-?\d{1,15}(\.\d{1,9})?$/.test(found) ? Number(found) : undefined;
}

export function flagAt(value: Json, ...names: readonly string[]): boolean | undefined {
  const found = at(value, ...names);
  return typeof found === 'boolean' ? found : undefined;
}

export function listAt(value: Json, ...names: readonly string[]): readonly Json[] {
  const found = at(value, ...names);
  return Array.isArray(found) ? found : [];
}

export function textsAt(value: Json, ...names: readonly string[]): readonly string[] {
  return listAt(value, ...names).flatMap((item) => textAt(item) ?? []);
}

/** The path of a resource that is referred to. */
export function linkAt(value: Json, ...names: readonly string[]): string | undefined {
  return localPath(at(value, ...names, '@odata.id'));
}

export function linksAt(value: Json, ...names: readonly string[]): readonly string[] {
  return listAt(value, ...names).flatMap((item) => linkAt(item) ?? []);
}

/** A path on the service itself. Of an absolute URL only the path counts, so that credentials never go elsewhere. */
export function localPath(link: Json): string | undefined {
  if (typeof link !== 'string' || link.length > 2_048) return undefined;
  let path = link;
  if (/^https?:\/\//i.test(link)) {
    const url = URL.parse(link);
    if (!url) return undefined;
    path = url.pathname + url.search;
  }
  return /^\/(?!\/)[\x21-\x7e]*$/.test(path) ? path.replace(/#.*$/, '') : undefined;
}

export function cleanText(text: string): string | undefined {
  // Control characters of both sets, and those that turn the direction of writing.
  const clean = text
    .slice(0, maximumText)
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim();
  return clean === '' ? undefined : clean;
}
