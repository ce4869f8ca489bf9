import { Wrong } from './arguments.ts';
import type { Definition } from './writing.ts';

/**
 * Reads a stanza file: `NAME:` and below it `attribute=value`, with the type in `objtype`. `default-TYPE:` gives values to all objects of
 * that type which follow it.
 */
export function readStanzas(text: string, given: Readonly<Record<string, string>>): Definition[] {
  const stanzas: { name: string; attributes: Record<string, string> }[] = [];
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(#|$)/.test(line)) continue;
    const name = /^\s*([^=]*\S)\s*:\s*$/.exec(line)?.[1];
    const assignment = /^\s*(\S+?)\s*=\s*(.*?)\s*$/.exec(line);
    if (name !== undefined) stanzas.push({ name, attributes: Object.create(null) as Record<string, string> });
    else if (assignment && stanzas.length > 0) stanzas.at(-1)!.attributes[assignment[1]!] = assignment[2]!;
  }
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
    const merged = { ...given, ...defaults.get(type), ...attributes };
    const key = `${type} ${name}`;
    const before = definitions.get(key);
    definitions.set(key, { type, names: name, attributes: { ...before?.attributes, ...merged } });
  }
  return [...definitions.values()];
}
