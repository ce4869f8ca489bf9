import type { Invocation } from '../command.ts';
import { Refused } from '../errors.ts';
import { errorLine, ignoredLine, warningLine } from '../lines.ts';
import { flag, type OptionTable, repeated } from '../options.ts';
import { criteriaTest, type DefinitionCall, readCriteria, separator, Wrong } from './arguments.ts';
import { emptyRangeText, readObjects } from './reading.ts';
import { type Definition, readStanzas, severalErrors } from './stanzas.ts';

export const writingOptions: OptionTable = {
  'stanza|z': flag('read definitions from standard input, as lsdef -z writes them'),
  'dynamic|d': flag('a dynamic group, whose members are the nodes that meet the criteria at any time'),
  'w|where': repeated('CRITERION', 'for groups: attr==value, attr!=value, attr=~pattern, attr!~pattern'),
};

/** What is to be written, by the command line or by a stanza file. */
export async function definitionsOf(
  call: DefinitionCall,
  invocation: Invocation,
  usage: boolean,
): Promise<readonly Definition[]> {
  const { options, types, attributes } = call;
  checkSources(call);
  if (options.flag('stanza')) {
    const { definitions, ignored } = readStanzas(await invocation.stdin.text(), attributes);
    for (const { word, why } of ignored) invocation.stderr.line(ignoredLine(word, why));
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

/** Refuses names, types and criteria that nothing would be done with. */
function checkSources({ options, types, names }: DefinitionCall): void {
  const selection = ['dynamic', 'w'].find((option) => options.has(option));
  const selects = selection === undefined ? undefined : `-${selection[0]!}`;
  if (options.flag('stanza')) {
    if (names !== undefined) throw new Wrong("Cannot use '-z' with '-o' or a noderange.", true);
    if (types.length > 0) throw new Wrong("Cannot combine '-t' and '-a', '-z', or '-x' options.", true);
    if (selects !== undefined)
      throw new Wrong(`Cannot use '-z' with '${selects}': the stanzas say what a group is.`, true);
  } else if (selects !== undefined && (types[0] ?? 'node') !== 'group')
    throw new Wrong(
      `${selects} says who is in a group: use it with -t group. ATTRIBUTE= clears an attribute of other objects.`,
    );
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
  { type, names }: Pick<Definition, 'type' | 'names'>,
  isTail: (line: string) => boolean,
): number {
  if (!(error instanceof Refused) || error.isDenied) throw error;
  const say = (text: string) => stderr.line(errorLine(text, client.server));
  const { reference, sentences, kind } = error;
  if (kind === 'invalid' && type === 'node' && isEmptyRange(error, names)) say(emptyRangeText(names));
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

/** xCAT's warnings of new nodes whose names have capital letters. A file of several types names each of its objects. */
export function warnOfCapitals(
  { client, stderr }: Invocation,
  definitions: readonly Definition[],
  created: readonly string[],
): void {
  const nodes = definitions.filter(({ type }) => type === 'node');
  const isNode = (name: string): boolean =>
    nodes.length === definitions.length || nodes.some(({ names }) => names === name);
  for (const name of created)
    if (/[A-Z]/.test(name) && isNode(name))
      stderr.line(
        warningLine(
          `The node name '${name}' contains capital letters which may not be resolved correctly by the dns server.`,
          client.server,
        ),
      );
}

export const countLine = (count: number): string => `${count} object definitions have been created or modified.`;
