import { path } from '../client.ts';
import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { filled, refused, repeated, valued, verbose } from '../options.ts';
import { commaList, type KitRow, kitVersion, listKits, tellFramework } from './kits.ts';

const xml = { 'x|xml|XML': refused('there is no XML; --format json prints data.') } as const;
const line = `\n${'-'.repeat(52)}\n`;

/** The columns that an option names; undefined: all. */
const columnsOf = (call: Call, option: string): string[] | undefined =>
  call.has(option) ? commaList(call.values(option), 'column') : undefined;

const only = (row: KitRow, columns: readonly string[] | undefined): KitRow =>
  columns === undefined
    ? row
    : Object.fromEntries(columns.flatMap((each) => (each in row ? [[each, row[each]!]] : [])));

const stanza = (kind: string, row: KitRow): string =>
  `${kind}:\n${Object.entries(row)
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `    ${name}=${value}\n`)
    .join('')}`;

/** Refuses a column that the table does not have. */
async function checkColumns(
  { client }: Invocation,
  type: string,
  columns: readonly string[] | undefined,
): Promise<void> {
  if (columns === undefined) return;
  const { columns: known } = (
    (await client.get(`/tables/${type}/dump`, { aside: true })) as Record<string, { columns: string[] }>
  )[type]!;
  const wrong = columns.filter((each) => !known.includes(each));
  if (wrong.length > 0) throw new UsageError(`The following ${type} attributes are not valid: ${wrong.join(',')}.`);
}

/** Those that were asked for; one that does not exist is refused. */
function chosen<T>(
  all: readonly T[],
  names: readonly string[],
  what: string,
  nameOf: (item: T) => string,
): readonly T[] {
  if (names.length === 0) return all;
  const wrong = names.filter((name) => !all.some((item) => nameOf(item) === name));
  if (wrong.length > 0)
    throw new UsageError(`The following ${what} ${wrong.length > 1 ? 'are' : 'is'} not valid: ${wrong.join(',')}.`);
  return all.filter((item) => names.includes(nameOf(item)));
}

export const lskit = xcatCommand({
  usage: `Usage: lskit [-K COLUMNS] [-R COLUMNS] [-C COLUMNS] [KIT[,KIT...]]
       lskit -F FILE
       lskit -h | --help | -v | --version

  Lists software kits, with their repositories and components.`,
  options: {
    'F|framework': filled('FILE', 'show for which frameworks the kit in a tar archive of yours was built'),
    'K|kitattr': repeated('COLUMNS', 'of the kits, only these columns of table kit'),
    'R|repoattr': repeated('COLUMNS', 'of their repositories, only these columns of table kitrepo'),
    'C|compattr': repeated('COLUMNS', 'of their components, only these columns of table kitcomponent'),
    ...xml,
    ...verbose,
  },
  version: kitVersion('lskit'),
  operands: 1,
  common: reading,
  async run(invocation, call) {
    const file = call.value('F');
    const [kitColumns, repoColumns, componentColumns] = ['K', 'R', 'C'].map((each) => columnsOf(call, each));
    if (file !== undefined) {
      if (kitColumns ?? repoColumns ?? componentColumns)
        throw new UsageError("The '-F' option cannot be used with the x, R, K, or C options.");
      return tellFramework(invocation, file);
    }
    await checkColumns(invocation, 'kit', kitColumns);
    await checkColumns(invocation, 'kitrepo', repoColumns);
    await checkColumns(invocation, 'kitcomponent', componentColumns);
    const kits = chosen(
      await listKits(invocation),
      commaList(call.operands, 'kit'),
      'kit name',
      ({ kit }) => kit['kitname']!,
    );
    if (call.common.format) return writeData(invocation, call.common.format, kits);
    if (kits.length === 0) return say(invocation, 'No kits were found.');
    // Whoever names columns of one kind wants to see that kind alone.
    const isChosen = [kitColumns, repoColumns, componentColumns].some((each) => each !== undefined);
    const shows = (columns: readonly string[] | undefined): boolean => !isChosen || columns !== undefined;
    for (const { kit, repos, components } of kits) {
      const parts = [
        ...(shows(kitColumns) ? [stanza('kit', only(kit, kitColumns))] : []),
        ...(shows(repoColumns) ? repos.map((repo) => stanza('kitrepo', only(repo, repoColumns))) : []),
        ...(shows(componentColumns)
          ? components.map((component) => stanza('kitcomponent', only(component, componentColumns)))
          : []),
      ];
      invocation.stdout.line(`${line}${parts.join('\n')}`);
    }
    return 0;
  },
});

const listComponents = async ({ client }: Invocation, osdistro?: string): Promise<readonly KitRow[]> =>
  (
    (await client.get('/kitcomponents', { query: osdistro === undefined ? {} : { osdistro } })) as {
      kitcomponents: KitRow[];
    }
  ).kitcomponents;

const componentName = (row: KitRow): string => row['kitcompname']!;

export const lskitcomp = xcatCommand({
  usage: `Usage: lskitcomp [-C COLUMNS] [-O OSDISTRO] [-S ROLE] [COMPONENT[,COMPONENT...]]
       lskitcomp -h | --help | -v | --version

  Lists components of software kits.`,
  options: {
    'C|compattr': repeated('COLUMNS', 'only these columns of table kitcomponent'),
    'O|osdistro': valued('OSDISTRO', 'only those that fit this operating system; lsdef -t osdistro lists the names'),
    'S|serverrole': valued('ROLE', 'only those for this role of a server, such as compute'),
    ...xml,
    ...verbose,
  },
  version: kitVersion('lskitcomp'),
  operands: 1,
  common: reading,
  async run(invocation, call) {
    const columns = columnsOf(call, 'C');
    await checkColumns(invocation, 'kitcomponent', columns);
    const role = call.value('S');
    const all = await listComponents(invocation, call.value('O'));
    const found = chosen(all, commaList(call.operands, 'kit component'), 'kit component name', componentName).filter(
      (row) => role === undefined || (row['serverroles'] ?? '').split(',').includes(role),
    );
    if (call.common.format) return writeData(invocation, call.common.format, found);
    if (found.length === 0) return say(invocation, 'No kit components were found.');
    for (const kitname of new Set(found.map((row) => row['kitname'] ?? ''))) {
      const own = found.filter((row) => (row['kitname'] ?? '') === kitname);
      const parts = [stanza('kit', { kitname }), ...own.map((row) => stanza('kitcomponent', only(row, columns)))];
      invocation.stdout.line(`${line}${parts.join('\n')}`);
    }
    return 0;
  },
});

export const lskitdeployparam = xcatCommand({
  usage: `Usage: lskitdeployparam [-k KIT[,KIT...]] [-c COMPONENT[,COMPONENT...]]
       lskitdeployparam -h | --help | -v | --version

  Lists the deployment parameters of software kits, or of the kits of components: variables for their packages and scripts.`,
  options: {
    'k|kitname': repeated('KITS', 'of these kits'),
    'c|compname': repeated('COMPONENTS', 'of the kits of these components'),
    ...xml,
    ...verbose,
  },
  version: kitVersion('lskitdeployparam'),
  operands: 0,
  common: reading,
  async run(invocation, call) {
    if (!call.has('k') && !call.has('c')) {
      say(invocation, lskitdeployparam.usage);
      await invocation.stdout.flush();
      throw new UsageError('Either kit names or kit component names must be specified.');
    }
    const components = commaList(call.values('c'), 'kit component');
    const rows =
      components.length === 0
        ? []
        : chosen(await listComponents(invocation), components, 'kit component name', componentName);
    const kits = new Set([...commaList(call.values('k'), 'kit'), ...rows.map((row) => row['kitname']!)]);
    const found = new Map<string, string>();
    for (const kit of kits)
      for (const [name, value] of Object.entries(
        (await invocation.client.get(path('kits', kit, 'parameters'))) as KitRow,
      ))
        found.set(name, value);
    const list = [...found].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => ({ name, value }));
    if (call.common.format) return writeData(invocation, call.common.format, list);
    for (const row of list) invocation.stdout.line(stanza('kitdeployparam', row));
    return 0;
  },
});
