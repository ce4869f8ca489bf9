import { path } from '../client.ts';
import { Refused } from '../client-errors.ts';
import type { CliCommand } from '../invocation.ts';
import { referenceVersion } from '../lines.ts';
import { curlLine } from '../nodes/curl-line.ts';
import { takeOwnOptions } from '../nodes/own-options.ts';
import { parseOptions } from '../options.ts';

const usage = `Usage: updatenode NODERANGE [-F] [-S] [-P [SCRIPT,...]]

  Brings nodes up to date; without options by all of these:
  -F   files of the synclists of their images
  -S   packages of their images
  -P   postscripts, all of each node or the named ones`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout, stderr, client } = invocation;
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
    if (options.unknown.length > 0) return stdout.line(usage), 1;
    if (options.flag('help')) return stdout.line(usage), 0;
    if (options.flag('version')) return stdout.line(`Version ${referenceVersion}`), 0;
    const [range] = options.operands;
    if (range === undefined) return stdout.line(usage), 1;
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
    for (const { word, body } of steps.length > 0 ? steps : [{ word: 'updating', body: undefined }]) {
      const request = { method: 'POST', at: path('nodes', range, word), ...(body ? { body } : {}) } as const;
      if (own.curl) {
        stdout.line(curlLine(client.place, request));
        continue;
      }
      try {
        const reply = (await client.call('POST', request.at, request)).body;
        const lines = Array.isArray(reply) ? (reply as string[]) : linesOf(reply as Record<string, readonly string[]>);
        for (const line of lines) await stdout.line(line);
      } catch (error) {
        // A script that is not there is told like a result, and nothing is run.
        if (!(error instanceof Refused) || !error.reference.some((text) => text.includes('does not exist')))
          throw error;
        for (const text of error.reference) stdout.line(text);
      }
    }
    return 0;
  },
};

const linesOf = (reply: Readonly<Record<string, readonly string[]>>): string[] =>
  Object.entries(reply ?? {}).flatMap(([node, lines]) => lines.map((line) => `${node}: ${line}`));
