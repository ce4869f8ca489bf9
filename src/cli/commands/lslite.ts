import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { reading } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { writeData } from '../formats.ts';
import { errorLine } from '../lines.ts';
import { valued, verbose } from '../options.ts';
import type { Dump } from './table-files.ts';

type Row = Readonly<Record<string, string | undefined>>;

export const lslite = xcatCommand({
  usage: `Usage: lslite -i IMAGE
       lslite NODERANGE

Shows what the tables litefile, litetree and statelite say of an image, or of nodes and the images they boot.`,
  options: { i: valued('IMAGE', 'the image'), ...verbose },
  operands: 1,
  common: reading,
  async run(invocation, call) {
    const image = call.value('i');
    const [range] = call.operands;
    if ((image === undefined) === (range === undefined)) return say(invocation, lslite.usage, 1);
    const facts = image === undefined ? await ofNodes(invocation, range!) : await ofImages(invocation, [image]);
    if (!facts) return 1;
    if (call.common.format) return writeData(invocation, call.common.format, facts);
    for (const each of facts)
      for (const line of image === undefined ? nodeLines(each) : each.files) await invocation.stdout.line(line);
    return 0;
  },
});

interface Facts {
  readonly node?: string;
  readonly image: string;
  readonly state?: string;
  /** Options and path, as `tmpfs,rw  /etc/adjtime`. */
  readonly files: readonly string[];
  /** Priority and directory. */
  readonly trees: readonly string[];
}

const nodeLines = ({ node = '', image, state, files, trees }: Facts): string[] => [
  `>>>Node: ${node}`,
  `Osimage: ${image}`,
  'Persistent directory (statelite table):',
  `    ${state ?? 'none'}`,
  'Litefiles (litefile table):',
  ...(files.length > 0 ? files : ['none']).map((line) => `    ${line}`),
  'Litetree path (litetree table):',
  ...(trees.length > 0 ? trees : ['none']).map((line) => `    ${line}`),
  '',
];

async function ofImages(invocation: Invocation, names: readonly string[]): Promise<Facts[] | undefined> {
  const { client, stderr } = invocation;
  const rows = async (table: string): Promise<readonly Row[]> =>
    ((await client.get(path('tables', table, 'dump'))) as Record<string, Dump>)[table]!.rows.filter(isEnabled);
  const [litefile, litetree] = [await rows('litefile'), await rows('litetree')];
  const found: Facts[] = [];
  for (const name of names) {
    const groups = await groupsOf(invocation, name);
    if (!groups) {
      stderr.line(errorLine(`Cannot find image '${name}' from the osimage table.`, client.server));
      return undefined;
    }
    const fits = ({ image = '' }: Row): boolean => ['', 'ALL', name, ...groups].includes(image);
    found.push({
      image: name,
      files: litefile.filter(fits).map(({ options = '', file = '' }) => `${(options || 'tmpfs,rw').padEnd(16)}${file}`),
      trees: litetree
        .filter(fits)
        .toSorted((a, b) => Number(a['priority']) - Number(b['priority']))
        .map(({ priority = '', directory = '' }) => `${priority},${directory}`),
    });
  }
  return found;
}

const isEnabled = ({ disable = '' }: Row): boolean => !/^(1|yes)$/i.test(disable);

/** The groups of an image; undefined if there is no such image. */
async function groupsOf({ client }: Invocation, image: string): Promise<string[] | undefined> {
  try {
    const found = (await client.get(path('osimages', image))) as Record<string, { groups?: string }>;
    return (found[image]?.groups ?? '').split(',').filter(Boolean);
  } catch (error) {
    if (error instanceof Refused && error.kind === 'unknown-object') return undefined;
    throw error;
  }
}

async function ofNodes(invocation: Invocation, range: string): Promise<Facts[] | undefined> {
  const { client, stderr } = invocation;
  const nodes = Object.entries(
    (await client.get(path('nodes', range, 'attrs', 'provmethod'))) as Record<string, { provmethod?: string }>,
  );
  const states = (await client.get(path('tables', 'statelite', 'nodes', range))) as { statelite?: readonly Row[] };
  const stateOf = new Map((states.statelite ?? []).map(({ name = '', node = name, statemnt }) => [node, statemnt]));
  const lacking = nodes.filter(([, { provmethod }]) => !provmethod).map(([node]) => node);
  if (lacking.length > 0) {
    stderr.line(errorLine(`${lacking.join(',')}: no image is set. Run chdef NODE provmethod=IMAGE.`, client.server));
    return undefined;
  }
  const images = await ofImages(invocation, [...new Set(nodes.map(([, { provmethod }]) => provmethod!))]);
  return (
    images &&
    nodes.map(([node, { provmethod }]) => ({
      ...images.find(({ image }) => image === provmethod)!,
      node,
      ...(stateOf.get(node) ? { state: stateOf.get(node)! } : {}),
    }))
  );
}
