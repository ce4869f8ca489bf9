import { garbled } from './faults.ts';

/** An element with its attributes, and what is in it: text as it is meant, with nothing escaped. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly (Element | string)[];
}

type Content = Element | string | undefined | readonly Content[];

/** An element; what is undefined is left out. Values are text and can become nothing else. */
export function element(
  name: string,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...content: readonly Content[]
): Element {
  const given = Object.entries(attributes).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { name, attributes: Object.fromEntries(given), children: flatten(content) };
}

const flatten = (content: readonly Content[]): (Element | string)[] =>
  content.flatMap((each) =>
    each === undefined ? [] : Array.isArray(each) ? flatten(each) : [each as Element | string],
  );

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  "'": '&apos;',
  '"': '&quot;',
};

/** Text as it can stand between elements and in attributes. Control characters, for which XML has no room, are left out. */
const escape = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\P{Cc}]|[\ufffe\uffff]/gu, '')
    .replaceAll(/[&<>'"]/g, (sign) => escapes[sign]!)
    .replaceAll(/[\t\n\r]/g, (sign) => `&#${sign.codePointAt(0)};`);

const nameShape = /^[A-Za-z_][\w.:-]*$/;

export function writeXml({ name, attributes, children }: Element): string {
  const names = [name, ...Object.keys(attributes)];
  const wrong = names.find((each) => !nameShape.test(each));
  if (wrong !== undefined) throw new Error(`"${wrong}" is not a name in XML.`);
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}='${escape(value)}'`);
  const inside = children.map((child) => (typeof child === 'string' ? escape(child) : writeXml(child))).join('');
  return inside === '' ? `<${name}${list.join('')}/>` : `<${name}${list.join('')}>${inside}</${name}>`;
}

const mostNesting = 64;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', apos: "'", quot: '"' };
const notXml = (what: string): Error => garbled(`its XML has ${what}`);

/** The text that is meant: there are no entities but those of XML itself. */
function unescape(text: string): string {
  return text.replaceAll(/&([^;&]{0,10});?/g, (whole, name: string) => {
    if (!whole.endsWith(';')) throw notXml(`"${whole.slice(0, 10)}"`);
    const number = /^#(?:x([\da-f]{1,6})|(\d{1,7}))$/i.exec(name);
    const code = number ? Number.parseInt(number[1] ?? number[2]!, number[1] ? 16 : 10) : undefined;
    if (code !== undefined && code <= 0x10_ffff) return String.fromCodePoint(code);
    return entities[name] ?? raise(`the entity "${name}"`);
  });
}

function raise(what: string): never {
  throw notXml(what);
}

/** One tag, or what is no element: a comment, an instruction, verbatim text. */
const markup =
  /<(?:!--(?<comment>[^]*?)-->|!\[CDATA\[(?<verbatim>[^]*?)\]\]>|\?[^]*?\?>|\/(?<end>[^\s<>/]+)\s*>|(?<name>[A-Za-z_][\w.:-]*)(?<attributes>(?:\s+[A-Za-z_][\w.:-]*\s*=\s*(?:'[^'<]*'|"[^"<]*"))*)\s*(?<empty>\/?)>)/y;
const attribute = /([A-Za-z_][\w.:-]*)\s*=\s*(?:'([^'<]*)'|"([^"<]*)")/g;

interface Open {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: (Element | string)[];
}

/** Reads what libvirt writes. Document types, and with them entities of one's own, are not taken. */
export function readXml(text: string): Element {
  const top: Open = { name: '', attributes: {}, children: [] };
  const open: Open[] = [top];
  for (let at = 0; at < text.length; ) {
    const inside = open.at(-1)!;
    const next = text.indexOf('<', at);
    const words = text.slice(at, next === -1 ? text.length : next);
    if (words !== '') inside.children.push(unescape(words));
    if (next === -1) break;
    markup.lastIndex = next;
    const found = markup.exec(text)?.groups ?? raise(`"${text.slice(next, next + 20)}"`);
    at = markup.lastIndex;
    const { verbatim, end, name, attributes = '', empty } = found;
    if (verbatim !== undefined) inside.children.push(verbatim);
    else if (end !== undefined) {
      if (end !== inside.name) raise(`the end of "${end}" in "${inside.name}"`);
      open.pop();
    } else if (name !== undefined) {
      const child: Open = { name, attributes: readAttributes(attributes), children: [] };
      inside.children.push(child);
      if (empty === '') open.push(child);
      if (open.length > mostNesting) raise(`more than ${mostNesting} elements in each other`);
    }
  }
  const [only, ...more] = childElements(top);
  if (open.length > 1 || only === undefined || more.length > 0) {
    throw notXml('no one element around all others');
  }
  return only;
}

const readAttributes = (text: string): Record<string, string> =>
  Object.fromEntries([...text.matchAll(attribute)].map(([, name, one, other]) => [name!, unescape(one ?? other!)]));

export const childElements = ({ children }: Element, name?: string): Element[] =>
  children.filter((child): child is Element => typeof child !== 'string' && (name ?? child.name) === child.name);

/** The first element down that way. */
export const elementAt = (from: Element, ...way: readonly string[]): Element | undefined =>
  way.reduce<Element | undefined>((at, name) => at && childElements(at, name)[0], from);

/** The text of it, and of nothing in it. */
export const textOf = (at: Element | undefined): string | undefined =>
  at?.children
    .filter((child) => typeof child === 'string')
    .join('')
    .trim();
