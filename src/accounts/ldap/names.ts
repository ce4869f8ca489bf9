/** One part of a distinguished name: `cn=admins`. */
interface NamePart {
  readonly type: string;
  readonly value: string;
}

/** A value as it stands in a distinguished name (RFC 4514). */
export const escapeNamePart = (value: string): string =>
  value
    .replaceAll(/[\\"+,;<>=]/g, '\\$&')
    .replaceAll('\0', '\\00')
    .replace(/^[ #]/, '\\$&')
    .replace(/ $/, '\\ ');

/** The parts of a distinguished name, the most special one first; of several in one place (`cn=a+ou=b`) all. Undefined: it is none. */
export function parseName(text: string): NamePart[][] | undefined {
  if (text.trim() === '') return [];
  const parts: NamePart[][] = [];
  let at = 0;
  let place: NamePart[] = [];
  while (at <= text.length) {
    const [whole, type] = /^\s*([A-Za-z][\w.-]*|\d+(?:\.\d+)*)\s*=\s*/.exec(text.slice(at)) ?? [];
    if (whole === undefined || type === undefined) return undefined;
    const read = readValue(text, at + whole.length);
    if (!read) return undefined;
    place.push({ type: type.toLowerCase(), value: read.value });
    if (text[read.end] !== '+') {
      parts.push(place);
      place = [];
    }
    if (read.end >= text.length) return text[read.end] === '+' ? undefined : parts;
    at = read.end + 1;
  }
  return undefined;
}

/** The value that begins there, without its escapes, and where it ends. */
function readValue(text: string, from: number): { value: string; end: number } | undefined {
  const bytes: Buffer[] = [];
  /** Blanks at the end are not the value's, unless they are escaped. */
  let kept = 0;
  let at = from;
  while (at < text.length && !',+;'.includes(text[at]!)) {
    let character = text[at]!;
    if (character === '"') return undefined;
    if (character === '\\') {
      const [hex] = /^[0-9A-Fa-f]{2}/.exec(text.slice(at + 1)) ?? [];
      if (hex === undefined && at + 1 >= text.length) return undefined;
      bytes.push(hex === undefined ? Buffer.from(text[at + 1]!) : Buffer.from(hex, 'hex'));
      at += hex === undefined ? 2 : 3;
      kept = bytes.length;
      continue;
    }
    // A character beyond 16 bits is two units.
    character = String.fromCodePoint(text.codePointAt(at)!);
    bytes.push(Buffer.from(character));
    at += character.length;
    if (character !== ' ') kept = bytes.length;
  }
  return { value: Buffer.concat(bytes.slice(0, kept)).toString('utf8'), end: at };
}

/** One spelling for each name, as directories compare most of them: without regard to the case of letters, and to several blanks. */
export function nameKey(text: string): string | undefined {
  const key = (parts: NamePart[]): string =>
    parts
      .map(
        ({ type, value }) => `${type}=${escapeNamePart(value.normalize('NFKC').toLowerCase().replaceAll(/ +/g, ' '))}`,
      )
      .sort()
      .join('+');
  return parseName(text)?.map(key).join(',');
}

/** Whether a name is the other, or below it. */
export function isBelow(name: string, base: string): boolean {
  const [key, of] = [nameKey(name), nameKey(base)];
  if (key === undefined || of === undefined) return false;
  return of === '' || key === of || key.endsWith(`,${of}`);
}

/** What `cn=admins,ou=groups` is called by its first part, if that is of this type. */
export function calledBy(name: string, type: string): string | undefined {
  const [first] = parseName(name) ?? [];
  return first?.length === 1 && first[0]!.type === type.toLowerCase() ? first[0]!.value : undefined;
}
