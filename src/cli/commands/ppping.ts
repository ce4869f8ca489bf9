import { path, type StreamLine } from '../client.ts';
import { told } from '../familiar.ts';
import type { CliCommand } from '../invocation.ts';
import { namesIn } from '../nodes/confirm.ts';
import { workOnNodes } from '../nodes/node-work.ts';
import { takeOwnOptions } from '../nodes/own-options.ts';
import { outputOf, textLines, unreached } from '../nodes/remote-lines.ts';
import { asksHelp } from '../nodes/range-words.ts';
import { tellUnknown } from '../nodes/unknown-nodes.ts';

const usage = `Usage: ppping NODERANGE

  Whether nodes reach each other: every one pings all others.`;

/** Names of nodes are safe words of a shell. */
const pingAll = (names: readonly string[]): string =>
  `for name in ${names.join(' ')}; do ping -c 1 -W 3 "$name" >/dev/null 2>&1 || echo "$name"; done`;

export const command: CliCommand = {
  usage,
  async run(invocation) {
    const { stdout, client } = invocation;
    const { own, rest } = takeOwnOptions(invocation.argv);
    const range = rest.find((word) => !word.startsWith('-'));
    if (rest.some(asksHelp)) return told({ stdout }, usage);
    if (range === undefined) return told({ stdout }, usage, 1);
    try {
      const names = await namesIn(client, range);
      if (names.length === 0) return 0;
      const body = { command: pingAll(names) };
      const { failed } = await workOnNodes(
        invocation,
        { method: 'POST', at: path('nodes', range, 'nodeshell'), body },
        { lines: () => [], result: (line) => said(line) },
        own,
      );
      return failed > 0 ? 1 : 0;
    } catch (error) {
      return tellUnknown(error, invocation, 1);
    }
  },
};

function said(line: StreamLine) {
  const node = line.node!;
  const reason = unreached(line);
  if (reason !== undefined) return { stdout: [], stderr: [`${node}: ${reason}`] };
  const missed = textLines(outputOf(line).stdout);
  const texts =
    missed.length === 0 ? ['pinged all nodes successfully'] : missed.map((name) => `ping failed to ${name}`);
  return { stdout: texts.map((text) => `${node}: ${text}`), stderr: [] };
}
