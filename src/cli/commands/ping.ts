import { path, type StreamLine } from '../client.ts';
import { say, xcatCommand } from '../command.ts';
import { onNodes, readingNodes } from '../common-options.ts';
import { Refused } from '../errors.ts';
import { nodeCommand, work } from '../nodes/node-command.ts';
import { outputOf, reportUnknown, textLines, unreached } from '../nodes/remote-lines.ts';
import { ResultWriter } from '../nodes/results.ts';
import { namesIn, workOnNodes } from '../nodes/work.ts';
import { flag, refused } from '../options.ts';

export const pping = xcatCommand({
  usage: `Usage: pping NODERANGE

  Shows which nodes answer a ping.`,
  options: { 'interface|i': refused('muster asks nodes at their own address only; leave -i out.', 'value') },
  operands: 1,
  common: readingNodes,
  async run(invocation, { operands: [range], common }) {
    const { client } = invocation;
    if (range === undefined) return say(invocation, pping.usage, 1);
    try {
      const states = (await client.get(path('nodes', range, 'nodestat'))) as Record<string, { nodestat: string }>;
      const writer = new ResultWriter(invocation, common);
      for (const [node, { nodestat }] of Object.entries(states)) {
        const value = nodestat.startsWith('noping') ? 'noping' : 'ping';
        await writer.write({ node, value }, { stdout: [`${node}: ${value}`], stderr: [] });
      }
      await writer.end();
      return 0;
    } catch (error) {
      if (error instanceof Refused && error.isEmpty) return 0;
      return reportUnknown(error, invocation, 1);
    }
  },
});

/** Names of nodes are safe words of a shell. */
const pingAll = (names: readonly string[]): string =>
  `for name in ${names.join(' ')}; do ping -c 1 -W 3 "$name" >/dev/null 2>&1 || echo "$name"; done`;

export const ppping = xcatCommand({
  usage: `Usage: ppping NODERANGE

  Shows which nodes reach each other: every node pings all others.`,
  options: { 'interface|i': refused('nodes ping each other at their own address only; leave -i out.', 'value') },
  version: false,
  operands: 1,
  common: onNodes,
  async run(invocation, { operands: [range], common }) {
    if (range === undefined) return say(invocation, ppping.usage, 1);
    try {
      const names = await namesIn(invocation.client, range);
      if (names.length === 0) return 0;
      const request = {
        method: 'POST',
        at: path('nodes', range, 'nodeshell'),
        body: { command: pingAll(names) },
      } as const;
      const { failed } = await workOnNodes(invocation, request, { lines: () => [], result: pinged }, common);
      return failed > 0 ? 1 : 0;
    } catch (error) {
      return reportUnknown(error, invocation, 1);
    }
  },
});

function pinged(line: StreamLine) {
  const node = line.node!;
  const reason = unreached(line);
  if (reason !== undefined) return { stdout: [], stderr: [`${node}: ${reason}`] };
  const missed = textLines(outputOf(line).stdout);
  const texts =
    missed.length === 0 ? ['pinged all nodes successfully'] : missed.map((name) => `ping failed to ${name}`);
  return { stdout: texts.map((text) => `${node}: ${text}`), stderr: [] };
}

/** A node that answers without any service we know is shown by what it boots, or as offline. */
const stateText = (state: string): string => (state === 'ping' ? 'offline' : state.replace(/^ping /, ''));

export const nodestat = nodeCommand({
  bare: 1,
  usage: `Usage: nodestat NODERANGE [-p] [-u] [-m]

  Shows which services of nodes answer; else ping with the boot state, or noping.`,
  options: {
    'powerstat|p': flag('ask the hardware of nodes that do not answer whether they are on'),
    'updatedb|u': flag('write what was seen to status and appstatus'),
    'usemon|m': flag('look for the applications that the table monsetting names'),
  },
  run(call) {
    const at = path('nodes', call.range, 'nodestat');
    const lines = (value: unknown): string[] => [stateText((value as { nodestat: string }).nodestat)];
    const [power, update, usemon] = [call.flag('powerstat'), call.flag('updatedb'), call.flag('usemon')];
    if (!power && !update && !usemon) return work(call, { method: 'GET', at }, { lines });
    const yes = (wanted: boolean): string => (wanted ? 'yes' : 'no');
    const body = { update: yes(update), power: yes(power), usemon: yes(usemon) };
    return work(call, { method: 'PUT', at, body }, { lines });
  },
});
