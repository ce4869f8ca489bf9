export interface SlpService {
  /** `service:printer:lpr`, as its URL says; if that says nothing, what was asked for. */
  readonly type: string;
  readonly url: string;
  /** The address of the agent that reported it. */
  readonly address: string;
  /** Reported by a directory agent, which stands for others. */
  readonly fromDirectory: boolean;
  /** Empty if the agent sent none. */
  readonly attributes: ServiceAttributes;
}

const longestUrl = 1_024;

export const isUrl = (text: string): boolean => text.length <= longestUrl && /^[a-z][\x21-\x7e]+$/i.test(text);

/** The type that a service's URL names, which may be another than the one that was asked for; that one if the URL is of no service. */
export function typeOfService(url: string, asked: string): string {
  const type = url.slice(0, Math.max(url.indexOf('://'), 0));
  return /^service:[^:]/i.test(type) ? type : asked;
}

/** The attributes of a service: names in small letters, a keyword has no values. */
type ServiceAttributes = ReadonlyMap<string, readonly string[]>;

const mostAttributes = 256;
const mostValues = 64;

/** RFC 2608 section 5: `(name=value,value),(name=value),keyword`. What is not of that form is passed over. */
export function parseAttributes(text: string): ServiceAttributes {
  const found = new Map<string, readonly string[]>();
  let at = 0;
  while (at < text.length && found.size < mostAttributes) {
    const open = text.indexOf('(', at);
    keywords(text.slice(at, open < 0 ? undefined : open), found);
    if (open < 0) break;
    const close = text.indexOf(')', open);
    const inside = text.slice(open + 1, close < 0 ? undefined : close);
    const mark = inside.indexOf('=');
    if (mark > 0) add(found, inside.slice(0, mark), inside.slice(mark + 1).split(',', mostValues));
    if (close < 0) break;
    at = close + 1;
  }
  return found;
}

function keywords(text: string, found: Map<string, readonly string[]>): void {
  for (const word of text.split(',', mostAttributes)) if (found.size < mostAttributes) add(found, word, []);
}

function add(found: Map<string, readonly string[]>, name: string, values: readonly string[]): void {
  const key = unescaped(name).toLowerCase();
  if (key !== '' && !found.has(key)) found.set(key, values.map(unescaped));
}

/** Reserved characters stand as `\2c`; several in a row may be the bytes of one character. */
const unescaped = (text: string): string =>
  text.trim().replaceAll(/(?:\\[0-9a-f]{2})+/gi, (bytes) => Buffer.from(bytes.replaceAll('\\', ''), 'hex').toString());
