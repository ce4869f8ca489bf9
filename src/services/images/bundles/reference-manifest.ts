import { Fault } from '../../../core/errors.ts';

const longest = 1024 * 1024;
const deepest = 8;
const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const token = /<([/]?)([A-Za-z_][\w.:-]*)((?:\s+[\w.:-]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*([/]?)>/y;
const attribute = /([\w.:-]+)\s*=\s*(?:"([^"<]*)"|'([^'<]*)')/g;

/**
 * The values at the top of the reference system's manifest.xml, by name. It writes them as elements or as attributes. What lies deeper is
 * left out; documents with declarations of their own are refused.
 */
export function parseReferenceManifest(text: string, what: string): Record<string, string> {
  const wrong = (reason: string): Fault => new Fault('invalid', `${what}: manifest.xml ${reason}.`);
  if (text.length > longest) throw wrong(`has more than ${longest} characters`);
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  const open: string[] = [];
  let content = '';
  let at = 0;
  while (at < text.length) {
    if (text.startsWith('<?', at) || text.startsWith('<!--', at)) {
      const end = text.startsWith('<?', at) ? '?>' : '-->';
      const found = text.indexOf(end, at);
      if (found < 0) throw wrong('is cut off');
      at = found + end.length;
    } else if (text[at] === '<') {
      token.lastIndex = at;
      const found = token.exec(text);
      if (!found) throw wrong('is not plain XML');
      const [whole, closing, name = '', attributes = '', single] = found;
      at += whole.length;
      if (closing) {
        if (open.pop() !== name) throw wrong(`has a </${name}> that nothing opened`);
        if (open.length === 1 && !(name in values) && content.trim() !== '')
          values[name] = decoded(content.trim(), wrong);
      } else {
        if (open.length === 0)
          for (const [, key, double, simple] of attributes.matchAll(attribute))
            values[key!] = decoded(double ?? simple ?? '', wrong);
        if (!single) open.push(name);
        if (open.length > deepest) throw wrong('is nested too deep');
      }
      content = '';
    } else {
      const end = text.indexOf('<', at);
      content = text.slice(at, end < 0 ? text.length : end);
      at += content.length;
    }
  }
  if (open.length > 0) throw wrong('is cut off');
  return { ...values };
}

function decoded(text: string, wrong: (reason: string) => Fault): string {
  return text.replaceAll(/&([^;&]*);?/g, (whole, name: string) => {
    const code = /^#x([0-9a-f]{1,6})$/i.exec(name)?.[1];
    const decimal = /^#(\d{1,7})$/.exec(name)?.[1];
    const number =
      code === undefined ? (decimal === undefined ? undefined : Number(decimal)) : Number.parseInt(code, 16);
    const character =
      number === undefined ? entities[name] : number <= 0x10ffff ? String.fromCodePoint(number) : undefined;
    if (character === undefined || !whole.endsWith(';')) throw wrong(`has ${whole}, which means nothing`);
    return character;
  });
}
