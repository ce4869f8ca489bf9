import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import { told } from '../familiar.ts';
import type { CliCommand, Invocation } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { type NodeRequest, workOnNodes } from '../nodes/node-work.ts';
import { type OwnOptions, takeOwnOptions } from '../nodes/own-options.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: updatenode NODERANGE [-F] [-S] [-P [SCRIPT,...]]

  Brings nodes up to date; without options by all of these:
  -F   files of the synclists of their images
  -S   packages of their images
  -P   postscripts, all of each node or the named ones`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout, stderr } = invocation;
    const { own, rest } = takeOwnOptions(invocation.argv);
    const options = parseOptions(rest, {
      'help|h|?': 'flag',
      'version|v': 'flag',
      'F|sync': 'flag',
      'f|snsync': 'flag',
      'S|sw': 'flag',
      'P|scripts': 'optional',
      'V|verbose': 'flag',
      'l|user': 'value',
      'k|security': 'flag',
    });
    for (const unknown of options.unknown) stderr.line(`Unknown option: ${unknown}`);
    if (options.unknown.length > 0) return told({ stdout }, usage, 1);
    if (options.flag('help')) return told({ stdout }, usage);
    if (options.flag('version')) return told({ stdout }, `Version ${referenceVersion}`);
    const [range] = options.operands;
    if (range === undefined) return told({ stdout }, usage, 1);
    if (options.flag('F') && options.flag('f')) {
      stderr.line('Choose either -f to sync the service nodes, or -F  to sync the nodes not both.');
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
      code = Math.max(code, await carryOut(invocation, request, own));
    }
    return code;
  },
};

const synced = 'File synchronization has completed.';
/** What is true of many nodes is said once. */
const saidOnce = [
  'There were no syncfiles defined to process. File synchronization has completed.',
  'Performing software maintenance operations. This could take a while, if there are packages to install.',
];

async function carryOut(invocation: Invocation, request: NodeRequest, own: OwnOptions): Promise<number> {
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
    const { failed } = await workOnNodes(invocation, request, { lines }, own);
    if (done.length > 0) stdout.line(`File synchronization has completed for nodes: "${done.sort().join(',')}"`);
    return failed > 0 ? 1 : 0;
  } catch (error) {
    // A script that is not there is told like a result, and nothing is run.
    if (!(error instanceof Refused) || !error.reference.some((text) => text.includes('does not exist'))) throw error;
    for (const text of error.reference) stdout.line(text);
    return 0;
  }
}
