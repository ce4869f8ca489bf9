import { path } from '../client.ts';
import { type Call, type Invocation, musterCommand } from '../command.ts';
import { onNodes } from '../common-options.ts';
import { UsageError } from '../errors.ts';
import { codeOf } from '../nodes/node-command.ts';
import { workOnNodes } from '../nodes/work.ts';

const wrongCall = 'Say what to do: show NODERANGE [FILE], diff NODERANGE or send NODERANGE.';

export const overlay = musterCommand({
  usage: `Usage: muster overlay show NODERANGE [FILE]
       muster overlay diff NODERANGE
       muster overlay send NODERANGE

Overlays are directories of files and templates that nodes get at each boot (attribute overlay of nodes, groups and images). show lists
the files of nodes, or prints one as it is made for a node; secrets are hidden. diff compares running nodes with their overlays and
prints the lines that differ: - is what the node has, + what the overlay has. send places the files on running nodes.`,
  operands: [2, 3, wrongCall],
  common: onNodes,
  run(invocation, call) {
    const [word, range = '', file, ...more] = call.operands;
    if (more.length > 0 || (file !== undefined && word !== 'show')) throw new UsageError(wrongCall);
    if (word === 'show') return show(invocation, call, range, file);
    if (word === 'diff' || word === 'send') return bring(invocation, call, range, word);
    throw new UsageError(wrongCall);
  },
});

async function show(invocation: Invocation, call: Call, range: string, file: string | undefined): Promise<number> {
  const at = path('nodes', range, 'overlay', ...(file === undefined ? [] : [file]));
  const report = {
    lines: (value: unknown) => {
      const files = Object.entries(value as Record<string, string>);
      if (file !== undefined) return files.flatMap(([, text]) => text.replace(/\n$/, '').split('\n'));
      return files.length === 0 ? ['no overlay'] : files.map(([name, what]) => `${name}: ${what}`);
    },
  };
  return codeOf(await workOnNodes(invocation, { method: 'GET', at }, report, call.common));
}

async function bring(invocation: Invocation, call: Call, range: string, action: 'diff' | 'send'): Promise<number> {
  const report = {
    range,
    lines: (value: unknown) => {
      const lines = value as readonly string[];
      if (lines.length > 0) return lines;
      return [action === 'diff' ? 'no difference' : 'nothing to change'];
    },
  };
  const request = { method: 'POST', at: path('nodes', range, 'overlay'), body: { action } } as const;
  return codeOf(await workOnNodes(invocation, request, report, call.common));
}
