import type { Invocation } from '../command.ts';
import { Refused } from '../errors.ts';
import { errorLine } from '../lines.ts';
import { flag, type OptionTable, repeated } from '../options.ts';
import { criteriaTest, type DefinitionCall, readCriteria, separator, Wrong } from './arguments.ts';
import { emptyRangeText, readObjects } from './reading.ts';

/** Objects that are written alike; one request has all of them. */
export interface Definition {
  readonly type: string;
  readonly names: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export const writingOptions: OptionTable = {
  'stanza|z': flag('read definitions from standard input, as lsdef -z writes them'),
  'dynamic|d': flag('a dynamic group, whose members are the nodes that meet the criteria at any time'),
  'w|where': repeated('CRITERION', 'for groups: attr==value, attr!=value, attr=~pattern, attr!~pattern'),
};

const severalErrors = 'One or more errors occured when attempting to create or modify xCAT object definitions.';

/** What is to be written, by the command line or by a stanza file. */
export async function definitionsOf(
  call: DefinitionCall,
  invocation: Invocation,
  usage: boolean,
): Promise<Definition[]> {
  const { options, types, attributes } = call;
  if (options.flag('stanza')) {
    const definitions = readStanzas(await invocation.stdin.text(), attributes);
    if (definitions.length === 0) throw new Wrong('No object names were provided.', usage);
    return definitions;
  }
  if (types.length > 1 && Object.keys(attributes).length > 0)
    throw new Wrong("Cannot combine multiple types with 'att=val' pairs on the command line.");
  const type = types[0] ?? 'node';
  const names = type === 'site' ? 'clustersite' : call.names;
  if (names === undefined) throw new Wrong('No object names were provided.', usage);
  return [
    {
      type,
      names,
      attributes: { ...attributes, ...(type === 'group' ? await selected(call, invocation, names) : {}) },
    },
  ];
}

/** Members of a group by the option -w: a dynamic group keeps the criteria, a static one gets who meets them now. */
async function selected(
  { options }: DefinitionCall,
  { client }: Invocation,
  names: string,
): Promise<Record<string, string>> {
  const where = options.values('w');
  if (options.flag('dynamic')) {
    if (where.length === 0)
      throw new Wrong(
        [
          `The 'where' attributes and values were not provided for dynamic group '${names}'.`,
          'Skipping to the next group.',
          severalErrors,
        ].join(separator),
      );
    return { grouptype: 'dynamic', wherevals: where.join('::') };
  }
  if (where.length === 0) return {};
  const criteria = readCriteria(where);
  const attributes = [...new Set(criteria.map(({ attribute }) => attribute))];
  const { objects } = await readObjects(client, { type: 'node', names: undefined, attributes, hidden: false });
  const meets = await criteriaTest(criteria);
  return { members: [...objects].flatMap(([name, found]) => (meets(found) ? name : [])).join(',') };
}

/** Says why nothing was written, in xCAT's words where they are known. */
export function reportRefusal(
  error: unknown,
  { client, stderr }: Invocation,
  names: string,
  isTail: (line: string) => boolean,
): number {
  if (!(error instanceof Refused) || error.isDenied) throw error;
  const say = (text: string) => stderr.line(errorLine(text, client.server));
  const { reference, sentences, kind } = error;
  if (kind === 'invalid' && isEmptyRange(error, names)) say(emptyRangeText(names));
  else {
    const lines = reference.length > 0 ? reference : sentences;
    for (const line of lines) say(line);
    if (!lines.includes(severalErrors) && isTail(lines.at(-1)!)) say(severalErrors);
  }
  return 1;
}

/** A range that selects nothing, or runs backwards. */
const isEmptyRange = ({ reference, sentences }: Refused, names: string): boolean =>
  reference.includes('No object names were provided.') ||
  (sentences.length === 1 && /^\w+-\w+$/.test(names) && reference.length === 0);

export const countLine = (count: number): string => `${count} object definitions have been created or modified.`;

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
