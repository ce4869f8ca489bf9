import { Fault } from '../../core/errors.ts';

/** What a service sent, of any shape: read it only with the functions here, which never throw. */
export type Json = unknown;

const maximumText = 1_024;

/** The object in a reply. Anything else, or one that is deeper or has more values than any Redfish resource, is a Fault. */
export function parseResource(bytes: Buffer, from: string): Readonly<Record<string, Json>> {
  if (!isSurelySmall(bytes)) {
    const tooMuch = new JsonScan(bytes, maximumValues).run();
    if (tooMuch) throw tooMuchFault(tooMuch, from, maximumValues);
  }
  return objectIn(parseJson(bytes.toString('utf8'), from), from);
}

export function tooMuchFault(tooMuch: JsonTooMuch, from: string, most: number): Fault {
  const what = tooMuch === 'depth' ? `is nested deeper than ${maximumDepth} levels` : `has more than ${most} values`;
  return new Fault('garbled', `${from} ${what}, which is no Redfish resource.`);
}

export function parseJson(text: string, from: string): Json {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    throw new Fault('garbled', `${from} is not JSON: "${cleanText(text.slice(0, 60)) ?? ''}".`);
  }
}

export function objectIn(value: Json, from: string): Record<string, Json> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Fault('garbled', `${from} is not a JSON object.`);
  }
  return value as Record<string, Json>;
}

/** Few bytes cannot hold many values, nor few brackets nest deep; counting those is the quicker test. */
function isSurelySmall(bytes: Buffer): boolean {
  if (bytes.length > maximumValues) return false;
  let count = 0;
  for (const bracket of [0x7b, 0x5b]) {
    for (let i = bytes.indexOf(bracket); i >= 0; i = bytes.indexOf(bracket, i + 1))
      if (++count > maximumDepth) return false;
  }
  return true;
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

/** The names of the members of an object, so many at most. */
export function namesAt(value: Json, ...names: readonly string[]): readonly string[] {
  const found = at(value, ...names);
  return typeof found === 'object' && found !== null && !Array.isArray(found)
    ? Object.keys(found).slice(0, mostNames)
    : [];
}

const mostNames = 1_000;

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

/** As nearly all texts are. */
const isClean = /^[!-~](?:[ -~]*[!-~])?$/;

function cleanText(text: string): string | undefined {
  if (text.length <= maximumText && isClean.test(text)) return text;
  // Control characters of both sets, and those that turn the direction of writing.
  const clean = text
    .slice(0, maximumText)
    .replace(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]+/gu, ' ')
    .trim();
  return clean === '' ? undefined : clean;
}

/** Deeper than any Redfish resource. */
const maximumDepth = 64;
/** Of one resource: objects, arrays, texts, numbers, words. */
export const maximumValues = 50_000;

type JsonTooMuch = 'depth' | 'values';

/** Gets every comma and bracket outside texts: its depth, where it is, and how many values came before. */
type Mark = (byte: number, depth: number, index: number, values: number) => void;

const [quote, backslash] = [0x22, 0x5c];
export const [comma, openList, closeList] = [0x2c, 0x5b, 0x5d];
const [openObject, closeObject] = [0x7b, 0x7d];

/** Counts values and depth of a JSON text before it is parsed. It can stop at any byte and go on later; no JSON may pass. */
export class JsonScan {
  readonly #bytes: Buffer;
  readonly #mostValues: number;
  readonly #mark: Mark | undefined;
  #at = 0;
  #depth = 0;
  #values = 0;
  #quoted = false;

  constructor(bytes: Buffer, mostValues: number, mark?: Mark) {
    this.#bytes = bytes;
    this.#mostValues = mostValues;
    this.#mark = mark;
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** Over so many bytes more; all of them if it is left out. */
  run(most = Number.POSITIVE_INFINITY): JsonTooMuch | undefined {
    const [bytes, mark] = [this.#bytes, this.#mark];
    const end = Math.min(bytes.length, this.#at + most);
    let [index, depth, values, quoted] = [this.#at, this.#depth, this.#values, this.#quoted];
    for (; index < end; index++) {
      const byte = bytes[index]!;
      if (quoted) {
        if (byte === backslash) index++;
        else if (byte === quote) quoted = false;
      } else if (byte === quote) quoted = true;
      else if (byte === comma) {
        mark?.(byte, depth, index, values);
        if (++values > this.#mostValues) return 'values';
      } else if (byte === openObject || byte === openList) {
        mark?.(byte, depth, index, values);
        if (++depth > maximumDepth) return 'depth';
        if (++values > this.#mostValues) return 'values';
      } else if (byte === closeObject || byte === closeList) {
        mark?.(byte, depth, index, values);
        depth--;
      }
    }
    [this.#at, this.#depth, this.#values, this.#quoted] = [index, depth, values, quoted];
    return undefined;
  }
}
