import { path } from '../client.ts';
import type { StreamLine } from '../replies.ts';
import { say, xcatCommand } from '../command.ts';
import { onNodes, readingNodes } from '../common-options.ts';
import { codeOf, nodeCommand, work } from '../nodes/node-command.ts';
import { outputOf, reportUnknown, textLines, unreached } from '../nodes/remote-lines.ts';
import { namesIn, workOnNodes } from '../nodes/work.ts';
import { flag, refused } from '../options.ts';

export const pping = xcatCommand({
  usage: `Usage: pping NODERANGE

  Shows which nodes answer a ping.`,
  options: {
    'use_fping|f': flag('accepted for scripts; muster asks all nodes at once'),
    'interface|i': refused('muster asks nodes at their own address only; leave -i out.', 'value'),
  },
  operands: 1,
  common: readingNodes,
  async run(invocation, { operands: [range], common }) {
    if (range === undefined) return say(invocation, pping.usage, 1);
    const request = { method: 'GET', at: path('nodes', range, 'nodestat') } as const;
    const report = { lines: (value: unknown) => [pingState(value)], data: pingState };
    try {
      return codeOf(await workOnNodes(invocation, request, report, common));
    } catch (error) {
      return reportUnknown(error, invocation, 1);
    }
  },
});

const pingState = (value: unknown): string =>
  (value as { nodestat: string }).nodestat.startsWith('noping') ? 'noping' : 'ping';

/** As a shell ends that does not find a program. */
const notFound = 127;

/** Names of nodes are safe words of a shell. Without the program every ping would seem to have no answer. */
const pingAll = (names: readonly string[]): string =>
  `command -v ping >/dev/null || exit ${notFound}; for name in ${names.join(' ')}; do ping -c 1 -W 3 "$name" >/dev/null 2>&1 || echo "$name"; done`;

export const ppping = xcatCommand({
  usage: `Usage: ppping [-V | -q] [-s] NODERANGE

  Shows which nodes reach each other: every node pings all others.`,
  options: {
    'verbose|V': flag('every ping, not only those without an answer'),
    'quiet|q': flag('nothing of nodes that reach all others'),
    'serial|s': flag('one node after the other'),
    'debug|d': refused('muster runs show says what was done.'),
    'interface|i': refused('nodes ping each other at their own address only; leave -i out.', 'value'),
  },
  operands: 1,
  common: onNodes,
  async run(invocation, call) {
    const [range] = call.operands;
    if (range === undefined) return say(invocation, ppping.usage, 1);
    const told = { all: call.flag('verbose'), good: !call.flag('quiet') };
    try {
      const names = await namesIn(invocation.client, range);
      if (names.length === 0) return 0;
      const request = {
        method: 'POST',
        at: path('nodes', range, 'nodeshell'),
        body: { command: pingAll(names), ...(call.flag('serial') ? { raw: ['-f', '1'] } : {}) },
      } as const;
      const report = { lines: () => [], result: (line: StreamLine) => pinged(line, names, told) };
      const { failed } = await workOnNodes(invocation, request, report, call.common);
      return failed > 0 ? 1 : 0;
    } catch (error) {
      return reportUnknown(error, invocation, 1);
    }
  },
});

/** What is shown: every ping, and nodes that reach all others. */
interface Told {
  readonly all: boolean;
  readonly good: boolean;
}

function pinged(line: StreamLine, names: readonly string[], { all, good }: Told) {
  const node = line.node!;
  const reason = unreached(line);
  if (reason !== undefined) return { stdout: [], stderr: [`${node}: ${reason}`] };
  if (outputOf(line).code === notFound)
    return {
      stdout: [],
      stderr: [`${node}: it has no program ping; install it there, such as the package iputils-ping.`],
    };
  const missed = textLines(outputOf(line).stdout);
  const summary = missed.length === 0 && good ? ['pinged all nodes successfully'] : [];
  const texts = all
    ? names.map((name) => `${name}: ${missed.includes(name) ? 'noping' : 'ping'}`)
    : [...summary, ...missed.map((name) => `${name}: noping`)];
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
    'usefping|f': flag('accepted for scripts; muster asks all nodes at once'),
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
