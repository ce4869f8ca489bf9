import { Wrong, separator } from './arguments.ts';

/** Objects that are written alike; one request has all of them. */
export interface Definition {
  readonly type: string;
  readonly names: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What is read of stanzas, and a sentence about each word that does not count. */
export interface Stanzas {
  readonly definitions: readonly Definition[];
  readonly ignored: readonly { readonly word: string; readonly why: string }[];
}

export const severalErrors = 'One or more errors occured when attempting to create or modify xCAT object definitions.';

interface Stanza {
  readonly name: string;
  readonly attributes: Record<string, string>;
}

/**
 * Reads a stanza file: `NAME:` and below it `attribute=value`, with the type in `objtype`. `default-TYPE:` gives values to all objects of
 * that type which follow it. What the call itself gives is for all objects that do not have it.
 */
export function readStanzas(text: string, given: Readonly<Record<string, string>>): Stanzas {
  const ignored: { word: string; why: string }[] = [];
  const stanzas: Stanza[] = [];
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    if (/^\s*(#|$)/.test(line)) continue;
    const name = /^\s*([^=]*\S)\s*:\s*$/.exec(line)?.[1];
    const [, attribute, value = ''] = /^\s*(\S+?)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    const stanza = stanzas.at(-1);
    if (name !== undefined) stanzas.push({ name, attributes: Object.create(null) as Record<string, string> });
    else if (attribute === undefined || !stanza) throw unreadable(line, index + 1, stanza);
    else {
      const before = stanza.attributes[attribute];
      if (before !== undefined && before !== value) {
        if (attribute === 'objtype') throw secondType(stanza.name, index + 1);
        ignored.push({
          word: `The first value of ${attribute} for ${stanza.name}`,
          why: `line ${index + 1} of the stanzas has another, and the last value counts; give it once.`,
        });
      }
      stanza.attributes[attribute] = value;
    }
  }
  return { definitions: definitionsIn(stanzas, given, ignored), ignored };
}

function definitionsIn(
  stanzas: readonly Stanza[],
  given: Readonly<Record<string, string>>,
  ignored: { word: string; why: string }[],
): Definition[] {
  const defaults = new Map<string, Readonly<Record<string, string>>>();
  const definitions = new Map<string, Definition>();
  for (const { name, attributes: all } of stanzas) {
    const general = /^default-(\w+)$/.exec(name)?.[1];
    const { objtype, ...attributes } = all;
    if (general !== undefined) {
      defaults.set(general, attributes);
      continue;
    }
    const type = objtype ?? (defaults.size === 1 ? [...defaults.keys()][0] : undefined);
    if (!type) throw new Wrong(`\nNo objtype value was specified for '${name}'. Cannot create object definition.`);
    const own = { ...defaults.get(type), ...attributes };
    const key = `${type} ${name}`;
    const before = definitions.get(key)?.attributes ?? given;
    for (const attribute of Object.keys(own).filter((each) => (before[each] ?? own[each]) !== own[each]))
      ignored.push(
        before[attribute] === given[attribute]
          ? {
              word: `The value of ${attribute} on the command line`,
              why: `the stanzas have another for ${name}, and that counts; give it once.`,
            }
          : {
              word: `The first value of ${attribute} for ${name}`,
              why: `there are two stanzas of ${name}, and the last value counts; give it once.`,
            },
      );
    if (type === 'site' && name !== 'clustersite')
      ignored.push({
        word: `"${name}"`,
        why: 'there is one site, clustersite, and the stanza is about its attributes; write clustersite: above them.',
      });
    definitions.set(key, { type, names: name, attributes: { ...before, ...own } });
  }
  return [...definitions.values()];
}

/** What such a line was to say would be missing, and what follows it might go to the object before it. */
function unreadable(line: string, number: number, stanza: Stanza | undefined): Wrong {
  // As xCAT says it of this attribute, without which there is no node.
  if (stanza && line.trim() === 'groups')
    return new Wrong(
      [`Attribute 'groups' is not specified for node '${stanza.name}', skipping to the next node.`, severalErrors].join(
        separator,
      ),
    );
  return new Wrong(
    `Line ${number} of the stanzas is neither the name of an object with a colon nor ATTRIBUTE=VALUE below one: "${line.trim()}". Nothing was written.`,
  );
}

const secondType = (name: string, number: number): Wrong =>
  new Wrong(
    `Line ${number} of the stanzas gives ${name} a second objtype. The name of another object with a colon may be missing above it. Nothing was written.`,
  );
