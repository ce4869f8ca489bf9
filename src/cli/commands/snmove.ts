import { path } from '../client.ts';
import { type Call, type Invocation, refuseByName, say, xcatCommand } from '../command.ts';
import { changing } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { writeTried } from '../muster/row-diff.ts';
import { foldNames } from '../nodes/results.ts';
import { workOnNodes } from '../nodes/work.ts';
import { filled, flag, refused, verbose } from '../options.ts';

/** Postscripts that write the name of the service node into files of a node; they run where the node has them. */
const concerned = ['syslog', 'setupntp', 'mkresolvconf'] as const;

export const snmove = xcatCommand({
  usage: `Usage: snmove NODERANGE [-s SN1] [-S SN1N] [-d SN2] [-D SN2N] [-i | -P SCRIPT,...|all]
       snmove -s SN1 [-S SN1N] [-d SN2] [-D SN2N] [-i | -P SCRIPT,...|all]
       snmove -h | --help | -v | --version

Moves nodes, or all nodes of a service node, to another service node. It then runs those of the postscripts
${concerned.join(', ')} that a node has.`,
  options: {
    'd|dest': filled('SN2', 'the new service node; without it the second in servicenode of each node'),
    'D|destn': filled('SN2N', 'its name or address as the nodes know it; without it its address in their network'),
    's|source': filled('SN1', 'the service node that the nodes have now'),
    'S|sourcen': filled('SN1N', 'its name or address as the nodes know it; without it xcatmaster of each node'),
    'i|ignorenodes': flag('run nothing on the nodes'),
    'P|postscripts': filled('SCRIPT,...|all', 'run these postscripts too, or all of each node'),
    'l|liteonly': refused('it is for AIX alone.'),
    ...verbose,
  },
  operands: 1,
  names: 'node',
  common: changing,
  triesItself: true,
  refuse: refuseByName,
  async run(invocation, options) {
    const [range] = options.operands;
    if (options.has('i') && options.has('P'))
      throw new UsageError('-P and -i cannot be used together: -P runs postscripts on the nodes, and -i runs none.');
    const source = options.value('s');
    if (range === undefined && source === undefined)
      return say(invocation, `${snmove.usage}\n\nName the nodes, or with -s the service node that they have now.`, 1);
    const { client, stdout } = invocation;
    const { dryRun } = options.common;
    const at = range === undefined ? path('servicenodes', source!, 'nodes') : path('nodes', range, 'servicenode');
    const query = dryRun ? { dryRun: '1' } : {};
    const { body } = await client.call('PUT', at, { body: bodyOf(options, range), query });
    const runs = scriptsNamed(options);
    if (dryRun) {
      await writeTried(invocation, body);
      if (runs) stdout.line(`Then these postscripts would run on the nodes: ${runs.text}.`);
      return 0;
    }
    const nodes = body as readonly string[];
    stdout.line(`Moved ${foldNames(nodes)} to ${options.value('d') ?? 'the second service node of each'}.`);
    return runs ? runScripts(invocation, options, nodes, runs) : 0;
  },
});

const bodyOf = (options: Call, range: string | undefined): object => ({
  servicenode: options.value('d'),
  xcatmaster: options.value('D'),
  fromxcatmaster: options.value('S'),
  ...(range === undefined ? {} : { from: options.value('s') }),
});

interface Scripts {
  /** Of -P; `all` are those of each node. */
  readonly named: readonly string[] | 'all';
  readonly text: string;
}

function scriptsNamed(options: Call): Scripts | undefined {
  if (options.flag('i')) return undefined;
  const given = options.value('P');
  if (given === 'all') return { named: 'all', text: 'all of each node' };
  const named = (given ?? '').split(',').filter((script) => script !== '');
  const own = `those of ${concerned.join(', ')} that a node has`;
  return { named, text: [own, ...named].join('; ') };
}

/** The nodes have been moved by now, so what fails here changes nothing about that. */
async function runScripts(
  invocation: Invocation,
  { common }: Call,
  nodes: readonly string[],
  { named }: Scripts,
): Promise<number> {
  const { stdout } = invocation;
  const sorted = named === 'all' ? new Map([['', nodes]]) : await nodesByScripts(invocation, nodes, named);
  let code = 0;
  for (const [scripts, where] of sorted) {
    const range = foldNames(where);
    if (scripts === '' && named !== 'all') {
      stdout.line(`No postscript was run on ${range}: it has none of ${concerned.join(', ')}.`);
      continue;
    }
    const body = named === 'all' ? {} : { scripts: scripts.split(',') };
    const request = { method: 'POST', at: path('nodes', range, 'postscript'), body } as const;
    const { failed } = await workOnNodes(invocation, request, { lines: (value) => value as string[] }, common);
    if (failed > 0) code = 1;
  }
  return code;
}

/** The scripts that are to run, separated by commas, and the nodes that have these. */
async function nodesByScripts(
  { client }: Invocation,
  nodes: readonly string[],
  named: readonly string[],
): Promise<Map<string, string[]>> {
  const at = path('nodes', foldNames(nodes), 'attrs', 'postscripts,postbootscripts');
  const attributes = (await client.get(at)) as Readonly<Record<string, Readonly<Record<string, string>>>>;
  return Map.groupBy(nodes, (node) => {
    const { postscripts = '', postbootscripts = '' } = attributes[node] ?? {};
    const own = [postscripts, postbootscripts].flatMap((list) => list.split(','));
    const wanted = concerned.filter((script) => own.includes(script));
    return [...new Set([...wanted, ...named])].join(',');
  });
}
