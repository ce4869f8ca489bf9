import { path } from '../client.ts';
import { type Invocation, say, xcatCommand } from '../command.ts';
import { type CommonOptions, onNodes } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { type NodeRequest, workOnNodes } from '../nodes/work.ts';
import { flag, refused, verbose } from '../options.ts';

export const updatenode = xcatCommand({
  usage: `Usage: updatenode NODERANGE [-F] [-S] [-P [SCRIPT,...]]

  Brings nodes up to date; without options it does all of these.`,
  options: {
    'F|sync': flag('files of the synclists of their images'),
    'S|sw': flag('packages of their images'),
    'P|scripts': { kind: 'optional', value: '[SCRIPT,...]', help: 'postscripts, all of each node or the named ones' },
    ...verbose,
    'f|snsync': 'flag',
    'l|user': refused('muster works as root on the nodes.', 'value'),
    'k|security': refused('xdsh -K hands out the key of muster.'),
  },
  operands: 1,
  common: onNodes,
  refuse(invocation, { unknown }, usage) {
    for (const name of unknown) invocation.stderr.line(`Unknown option: ${name}`);
    return say(invocation, usage, 1);
  },
  async run(invocation, options) {
    const { stderr } = invocation;
    const [range] = options.operands;
    if (range === undefined) return say(invocation, updatenode.usage, 1);
    if (options.flag('f')) {
      stderr.line(
        options.flag('F')
          ? 'Choose either -f to sync the service nodes, or -F  to sync the nodes not both.'
          : 'Error: -f is not supported here: there are no service nodes; -F brings the files to nodes.',
      );
      return 1;
    }
    const scripts = options.value('P') ?? '';
    const steps = [
      ...(options.flag('F') ? [{ word: 'filesyncing' }] : []),
      ...(options.flag('S') ? [{ word: 'sw' }] : []),
      ...(options.has('P')
        ? [{ word: 'postscript', body: scripts === '' ? {} : { scripts: scripts.split(',') } }]
        : []),
    ];
    let code = 0;
    for (const { word, body } of steps.length > 0 ? steps : [{ word: 'updating', body: undefined }]) {
      const request = { method: 'POST', at: path('nodes', range, word), ...(body ? { body } : {}) } as const;
      code = Math.max(code, await carryOut(invocation, request, options.common));
    }
    return code;
  },
});

const synced = 'File synchronization has completed.';
/** What is true of many nodes is said once. */
const saidOnce = [
  'There were no syncfiles defined to process. File synchronization has completed.',
  'Performing software maintenance operations. This could take a while, if there are packages to install.',
];

async function carryOut(invocation: Invocation, request: NodeRequest, common: CommonOptions): Promise<number> {
  const { stdout } = invocation;
  const done: string[] = [];
  const said = new Set<string>();
  const lines = (value: unknown, node: string): string[] =>
    (value as readonly string[]).filter((line) => {
      if (line === synced) done.push(node);
      else if (!saidOnce.includes(line)) return true;
      else if (!said.has(line)) stdout.line(line);
      said.add(line);
      return false;
    });
  try {
    const { failed } = await workOnNodes(invocation, request, { lines }, common);
    if (done.length > 0) stdout.line(`File synchronization has completed for nodes: "${done.sort().join(',')}"`);
    return failed > 0 ? 1 : 0;
  } catch (error) {
    // A script that is not there is reported like a result, and nothing is run.
    if (!(error instanceof Refused) || !error.reference.some((text) => text.includes('does not exist'))) throw error;
    for (const text of error.reference) stdout.line(text);
    return 0;
  }
}
