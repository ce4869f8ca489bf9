import type { Attributes } from './reading.ts';

/** Objects of one type, as they are to be printed. */
export interface Listing {
  readonly type: string;
  readonly objects: ReadonlyMap<string, Attributes>;
  /** The attributes to show of each; undefined: all that are set. */
  readonly shown: readonly string[] | undefined;
}

export const noneOfType = 'Could not find any object definitions to display.';
export const stanzaHead = '# <xCAT data object stanza file>';

/** Where an attribute is stored, as -V shows it. */
export type Sources = (type: string, attribute: string, attributes: Attributes) => string;

/** How objects are printed. */
export interface Form {
  readonly onlyNames: boolean;
  readonly blank: string;
  readonly withType: boolean;
  readonly stanza: boolean;
  readonly compact: boolean;
  /** Where attributes are stored, by type and attribute. */
  readonly sources: Sources | undefined;
}

/** The text of each object. */
export function* texts(
  { type, objects, shown }: Listing,
  form: Form,
  show: (text: string) => string,
): Iterable<string> {
  for (const name of [...objects.keys()].sort()) {
    if (form.onlyNames) yield `${show(`${name}${form.blank}(${type})`)}\n`;
    else {
      const lines = head(name, type, form);
      // Oddly, lines of groups lack the name.
      const before = form.compact && type !== 'group' ? `${name}: ` : '    ';
      for (const [attribute, value] of pairs(type, objects.get(name)!, shown))
        lines.push(`${before}${attribute}=${value}${form.sources?.(type, attribute, objects.get(name)!) ?? ''}`);
      if (lines.length > 0) yield `${lines.map(show).join('\n')}\n`;
    }
  }
}

function head(name: string, type: string, { compact, stanza, withType }: Form): string[] {
  if (compact) return [];
  if (stanza) return ['', `${name}:`, `    objtype=${type}`];
  return [`Object name: ${name}${withType ? `  (${type})` : ''}`];
}

export function pairs(type: string, attributes: Attributes, shown: readonly string[] | undefined): [string, string][] {
  if (shown === undefined) return Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  const found: [string, string][] = [];
  for (const name of [...shown].sort()) {
    const value = attributes[name];
    // The family of a nic attribute stands for all its members.
    const members = Object.keys(attributes).filter((each) => each.startsWith(`${name}.`));
    if (value !== undefined) found.push([name, value]);
    else if (members.length > 0) for (const member of members.sort()) found.push([member, attributes[member]!]);
    else if (type !== 'site' && !name.startsWith('nic')) found.push([name, '']);
  }
  return found;
}

/** An empty list means all of them. */
export function chosenAttributes(given: string | undefined): readonly string[] | undefined {
  const names = [...new Set((given ?? '').split(',').filter((name) => name !== ''))];
  return names.length > 0 ? names : undefined;
}
