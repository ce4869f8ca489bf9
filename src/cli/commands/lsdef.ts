import type { Client } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { readingNodes } from '../common-options.ts';
import {
  type DefinitionCall,
  definitionOptions,
  readCall,
  refuseOptions,
  withWrongCalls,
  Wrong,
} from '../definitions/arguments.ts';
import { type Attributes, emptyRangeText, missingText, readNames, readObjects } from '../definitions/reading.ts';
import {
  chosenAttributes,
  type Form,
  type Listing,
  noneOfType,
  pairs,
  type Sources,
  stanzaHead,
  texts,
} from '../definitions/showing.ts';
import { Refused } from '../errors.ts';
import { writeData } from '../formats.ts';
import { byName, errorLine, foldedBlock, ignoredLine, referenceVersion, resultLine } from '../lines.ts';
import { foldNames } from '../nodes/results.ts';
import { flag, repeated, valued } from '../options.ts';

export const lsdef = xcatCommand({
  usage: `Usage: lsdef [-t TYPE[,TYPE]...] [-o NAMES | NODERANGE] [-i ATTRIBUTE,...] [-l | -s | -c | -z] [-w CRITERION]... [-S] [-V]
       lsdef -a [-l]
       lsdef --template [NAME]
       lsdef [-h | -v]

Lists definitions of nodes and other objects: names, or with names or -l all attributes that are set.`,
  options: {
    ...definitionOptions,
    'help|h|?': 'flag',
    'version|v': 'flag',
    i: valued('ATTRIBUTES', 'only these, unset ones too'),
    'long|l': flag('all attributes of every object'),
    'short|s': flag('names only'),
    'compress|c': flag('one line per attribute: NAME: attribute=value; needs -i'),
    'stanza|z': flag('as a stanza file, which mkdef -z and chdef -z read'),
    'w|where': repeated('CRITERION', 'objects that meet it: attr==value, attr!=value, attr=~pattern, attr!~pattern'),
    S: flag('hidden nodes too'),
    'verbose|V': flag('with the table and column where each attribute is stored'),
    'all|a': flag('objects of every type'),
    nics: flag('only attributes of network interfaces'),
    template: {
      kind: 'optional',
      value: '[NAME]',
      help: 'the templates that mkdef --template takes, or the attributes of one',
    },
    'xml|x': 'flag',
  },
  notes: 'lsdef -h -t TYPE shows what the attributes of the type mean; with -i those named.',
  asksItself: true,
  common: readingNodes,
  refuse: refuseOptions('Invalid option..'),
  run: (invocation, options) =>
    withWrongCalls(invocation, lsdef.usage, async () => {
      const call = readCall({ ...options, operands: options.operands.filter((word) => word !== '') }, invocation);
      if (options.flag('help'))
        return call.types.length > 0 || options.has('i') ? explain(call, invocation) : say(invocation, lsdef.usage);
      if (options.flag('version')) return say(invocation, `lsdef - Version ${referenceVersion}`);
      const code = await list(call, invocation);
      await tellIgnored(call, options.operands, invocation);
      return code;
    }),
});

/** As scripts know it, lsdef reads on where words mean nothing. It says which words these are, below what it shows. */
async function tellIgnored(
  { options, names, attributes }: DefinitionCall,
  operands: readonly string[],
  { stdout, stderr }: Invocation,
): Promise<void> {
  const ignored: string[] = [];
  const unnamed = `lsdef shows all objects where no name is given; check the variable that was to hold it.`;
  if (operands.includes('')) ignored.push(ignoredLine('""', names === undefined ? unnamed : 'it names nothing.'));
  if (options.value('o') === '') ignored.push(ignoredLine('-o ""', unnamed));
  if (options.has('i') && chosenAttributes(options.value('i')) === undefined)
    ignored.push(ignoredLine('-i ""', 'lsdef shows all attributes that are set; name some, such as -i arch,groups.'));
  for (const [name, value] of Object.entries(attributes))
    ignored.push(
      ignoredLine(`${name}=${value}`, `lsdef sets nothing; -w ${name}==${value} selects objects, chdef changes them.`),
    );
  if (ignored.length > 0) await stdout.flush();
  for (const line of ignored) stderr.line(line);
}

function check({ options: given, names }: DefinitionCall): void {
  const together = (one: string, other: string) =>
    new Wrong(`The flags '${one}' and '${other}' cannot be used together.`, true);
  if (given.flag('xml')) throw new Wrong("The '-x' (XML format) option is not yet implemented.", true);
  if (given.has('i') && given.flag('short')) throw together('-i', '-s');
  if (given.has('i') && given.flag('nics')) throw together('-i', '--nics');
  if (given.flag('long') && given.flag('short')) throw together('-l', '-s');
  if (given.flag('stanza') && given.flag('short')) throw together('-z', '-s');
  if (given.flag('all') && given.has('type')) throw together('-a', '-t');
  if (given.flag('all') && names !== undefined)
    throw new Wrong(`-a shows the objects of all types: leave out -a or "${names}". -t TYPE says of which type it is.`);
  if (given.flag('compress') && !given.has('i'))
    throw new Wrong("The flags '-c' and '-i' must be used together.", true);
}

async function list(call: DefinitionCall, invocation: Invocation): Promise<number> {
  check(call);
  const { options: given } = call;
  if (given.has('template')) {
    const { listTemplates } = await import('../definitions/templates.ts');
    return listTemplates(call, invocation);
  }
  const { client, stdout, stderr } = invocation;
  const types = given.flag('all')
    ? ((await client.get('/definitions')) as string[])
    : call.types.length > 0
      ? call.types
      : ['node'];
  const onlyNames = showsNames(call);
  const listings: Listing[] = [];
  const problems: string[] = [];
  // xCAT has different words for a type without objects and for names that lead to none.
  let nothing = noneOfType;
  let isSilent = false;
  for (const type of types) {
    const result = await listType(call, client, type, onlyNames);
    if ('problem' in result) {
      problems.push(result.problem);
      isSilent = true;
      continue;
    }
    for (const name of result.missing) problems.push(missingText(name, type));
    for (const name of result.strange) problems.push(strangeText(name, type));
    if (call.names !== undefined || given.has('w')) nothing = 'No object definitions have been found';
    isSilent ||= result.hid;
    if (result.objects.size > 0) listings.push(result);
  }
  const { server } = client;
  const { format, fold } = given.common;
  // Below what was found, or nobody would see it above many objects.
  const end = async (): Promise<number> => {
    if (problems.length === 0) return 0;
    await stdout.flush();
    for (const problem of problems) stderr.line(errorLine(problem, server));
    return 1;
  };
  if (format || fold) {
    const objects = listings.flatMap((listing) => dataOf(listing, onlyNames));
    if (format) await writeData(invocation, format, objects);
    else await writeFolded(invocation, objects);
    return end();
  }
  const show = (text: string) => resultLine(text, { env: invocation.env, server });
  if (listings.length === 0) {
    // A file of stanzas without any is one too.
    const isEmptyFile = given.flag('stanza') && given.has('w') && nothing !== noneOfType;
    if (!isSilent) stdout.line(show(isEmptyFile ? stanzaHead : nothing));
  } else {
    const sources = given.flag('verbose') && !onlyNames ? await readSources(client, types) : undefined;
    if (given.flag('stanza') && !onlyNames) stdout.line(show(stanzaHead));
    const form: Form = {
      onlyNames,
      blank: given.flag('all') ? ' ' : '  ',
      withType: types.length > 1,
      stanza: given.flag('stanza'),
      compact: given.flag('compress'),
      sources,
    };
    for (const listing of listings)
      for (const text of texts(listing, form, show)) {
        await stdout.write(text);
      }
  }
  return end();
}

/** Names alone are listed where nothing asks for more. */
function showsNames({ options: given, names }: DefinitionCall): boolean {
  if (given.flag('short')) return true;
  if (given.flag('long') || given.has('i') || given.flag('stanza') || given.flag('nics')) return false;
  return names === undefined || given.has('w');
}

const strangeText = (attribute: string, type: string): string =>
  `'${attribute}' is not a valid attribute name for an object type of '${type}'.`;

type Listed =
  | (Listing & { readonly missing: readonly string[]; readonly strange: readonly string[]; readonly hid: boolean })
  | { readonly problem: string };

/** They are no part of the database that definitions are made from. */
const logs = new Set(['auditlog', 'eventlog']);

async function listType(call: DefinitionCall, client: Client, type: string, onlyNames: boolean): Promise<Listed> {
  const { options: given } = call;
  const names = type === 'site' ? undefined : call.names;
  const hidden = given.flag('S');
  const { criteriaTest, criteria } = await criteriaOf(given.values('w'));
  const chosen = chosenAttributes(given.value('i'));
  if (logs.has(type) && !onlyNames) {
    await client.get('/definitions');
    return { problem: 'Could not get xCAT object definitions.' };
  }
  if (onlyNames && names === undefined && criteria.length === 0) {
    const all = await readNames(client, type, hidden);
    return { type, objects: new Map(all.map((name) => [name, {}])), shown: [], missing: [], strange: [], hid: false };
  }
  const hides = type === 'node' && names !== undefined && !hidden;
  const needed = onlyNames ? [] : chosen;
  const asked = needed && [
    ...new Set([...needed, ...criteria.map(({ attribute }) => attribute), ...(hides ? ['hidden'] : [])]),
  ];
  try {
    const found = await readObjects(client, {
      type,
      names,
      attributes: asked,
      hidden,
      ownScripts: given.flag('stanza'),
    });
    // An attribute that nothing has is one that nothing matches.
    const matches = criteria.some(({ attribute }) => found.strange.includes(attribute))
      ? () => false
      : await criteriaTest(criteria);
    const objects = new Map<string, Attributes>();
    let hid = false;
    for (const [name, attributes] of found.objects) {
      if (hides && isHidden(attributes)) hid = true;
      else if (matches(attributes)) objects.set(name, attributes);
    }
    if (type === 'site' && objects.size === 0 && criteria.length === 0) objects.set('clustersite', {});
    const strange = found.strange.filter((name) => needed?.includes(name));
    const isEmptyRange =
      found.objects.size === 0 && found.missing.length === 0 && type === 'node' && names !== undefined;
    if (isEmptyRange) return { problem: emptyRangeText(names) };
    const missing = type === 'site' && call.names !== undefined ? siteNames(call.names) : found.missing;
    const shown = given.flag('nics') ? nicNames(objects) : chosen?.filter((name) => !found.strange.includes(name));
    return { type, objects, shown, missing, strange, hid };
  } catch (error) {
    if (error instanceof Refused && names !== undefined && type === 'node' && isAboutRange(error))
      return { problem: rangeProblem(error, names) };
    throw error;
  }
}

/** Most calls have none, and need not load what reads them. */
async function criteriaOf(given: readonly string[]) {
  if (given.length === 0) return { criteria: [], criteriaTest: () => Promise.resolve(() => true) };
  const { criteriaTest, readCriteria } = await import('../definitions/arguments.ts');
  return { criteria: readCriteria(given), criteriaTest };
}

const isAboutRange = ({ kind, missing, reference }: Refused): boolean =>
  kind === 'invalid' && missing.length === 0 && reference.length === 0;

/** xCAT's words where it is plain what they mean, else what the server says is wrong. */
const rangeProblem = ({ message }: Refused, names: string): string =>
  /^\w+-\w+$/.test(names) ? emptyRangeText(names) : message;

const isHidden = ({ hidden }: Attributes): boolean => hidden === '1' || hidden?.toLowerCase() === 'yes';

const siteNames = (names: string): string[] => names.split(',').filter((name) => name !== 'clustersite');

const nicNames = (objects: ReadonlyMap<string, Attributes>): string[] => [
  ...new Set(
    [...objects.values()].flatMap((attributes) => Object.keys(attributes).filter((name) => name.startsWith('nic'))),
  ),
];

interface ShownObject {
  readonly name: string;
  readonly type: string;
  readonly attributes?: Attributes;
}

const dataOf = ({ type, objects, shown }: Listing, onlyNames: boolean): ShownObject[] =>
  [...objects]
    .toSorted(([a], [b]) => byName(a, b))
    .map(([name, attributes]) => ({
      name,
      type,
      ...(onlyNames ? {} : { attributes: Object.fromEntries(pairs(type, attributes, shown)) }),
    }));

/** Objects that are alike under their folded names. */
async function writeFolded({ stdout }: Invocation, objects: readonly ShownObject[]): Promise<void> {
  const alike = Map.groupBy(objects, ({ type, attributes = {} }) =>
    [`objtype=${type}`, ...Object.entries(attributes).map(([name, value]) => `${name}=${value}`)].join('\n'),
  );
  for (const [text, members] of alike)
    await stdout.write(foldedBlock(foldNames(members.map(({ name }) => name)), text));
}

/** What `GET /attributes` says of one. */
interface Described {
  readonly meaning: string;
  readonly stored: readonly string[];
}

const describe = async (client: Client, type: string): Promise<Readonly<Record<string, Described>>> => {
  const all = (await client.get(`/attributes/${encodeURIComponent(type)}`)) as Record<
    string,
    Record<string, Described>
  >;
  return all[type] ?? {};
};

async function readSources(client: Client, types: readonly string[]): Promise<Sources> {
  const known = new Map<string, Readonly<Record<string, Described>>>();
  for (const type of types) known.set(type, await describe(client, type));
  return (type, attribute, { mgt }) => {
    const stored = known.get(type)?.[attribute.split('.', 1)[0]!]?.stored ?? [];
    // Some are in the table of the node's kind of hardware.
    const [table, column] = (stored.find((place) => place.startsWith(`${mgt}.`)) ?? stored[0] ?? '').split('.');
    const key = keys[type] ?? 'node';
    return table ? `\t(Table:${table} - Key:${key} - Column:${column})` : '';
  };
}

const keys: Readonly<Record<string, string>> = {
  osimage: 'imagename',
  network: 'netname',
  policy: 'priority',
  site: 'key',
  route: 'routename',
  rack: 'rackname',
  zone: 'zonename',
};

/** `lsdef -t node -h -i mgt`: what attributes mean. */
async function explain(
  { options: given, types }: DefinitionCall,
  { client, stdout, stderr }: Invocation,
): Promise<number> {
  const type = types[0] ?? 'node';
  const known = await describe(client, type);
  const chosen = chosenAttributes(given.value('i')) ?? Object.keys(known).sort();
  const problems = chosen.filter((name) => !Object.hasOwn(known, name));
  for (const name of problems) stderr.line(errorLine(strangeText(name, type), client.server));
  stdout.line('\nAttribute          Description\n');
  for (const name of chosen) if (Object.hasOwn(known, name)) stdout.line(`${name}:\t\t${known[name]!.meaning}`);
  return problems.length > 0 ? 1 : 0;
}
