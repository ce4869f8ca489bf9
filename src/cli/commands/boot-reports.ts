import { setTimeout as sleep } from 'node:timers/promises';
import { path } from '../client.ts';
import { type Invocation, musterCommand, say } from '../command.ts';
import { reading } from '../common-options.ts';
import { writeData } from '../formats.ts';
import { flag } from '../options.ts';
import { oneLine } from '../output.ts';
import { withLocalTimes } from '../times.ts';

/** What the server knows of the boot of one node. */
interface Boot {
  readonly bootstate: string;
  readonly status: string;
  readonly steps: readonly string[];
  readonly history: readonly string[];
  readonly why: string;
}

/** Milliseconds between two looks. */
const interval = 1_000;

export const boot = musterCommand({
  usage: `Usage: muster boot NODERANGE [--watch]

Shows where nodes are in their boot: what each has fetched and reported, why it does not continue, and its last boots.`,
  options: { 'watch|w': flag('show new steps as they happen, until all nodes have booted or failed, or Ctrl-C') },
  operands: [1, 1, 'Name one noderange; separate nodes by commas.'],
  common: reading,
  async run(invocation, call) {
    const [range = ''] = call.operands;
    const { format } = call.common;
    const read = () => invocation.client.get(path('nodes', range, 'boot')) as Promise<Readonly<Record<string, Boot>>>;
    if (call.flag('watch')) return watch(invocation, read);
    const found = await read();
    if (format === 'json') return say(invocation, JSON.stringify(found, null, 2));
    if (format) {
      await writeData(
        invocation,
        format,
        Object.entries(found).map(([node, each]) => ({ node, ...each })),
      );
      return 0;
    }
    for (const [node, each] of Object.entries(found))
      for (const line of linesOf(node, each)) await print(invocation, line);
    return 0;
  },
});

const print = ({ stdout }: Invocation, line: string): unknown => stdout.line(withLocalTimes(oneLine(line)));

const linesOf = (node: string, { bootstate, status, steps, history, why }: Boot): string[] => [
  `${node}: set to ${bootstate}, status ${status || 'unknown'}`,
  ...steps.map((step) => `${node}:   ${step}`),
  `${node}: ${why}`,
  ...history.map((past) => `${node}: before: ${past}`),
];

/** Steps come once each; what is wrong is said when a node has failed. The exit status is 1 then. */
async function watch(invocation: Invocation, read: () => Promise<Readonly<Record<string, Boot>>>): Promise<number> {
  const { signal } = invocation;
  const shown = new Map<string, string>();
  for (;;) {
    const found = Object.entries(await read());
    for (const [node, { steps }] of found) {
      const last = shown.get(node);
      for (const step of steps.slice(last === undefined ? 0 : steps.lastIndexOf(last) + 1))
        await print(invocation, `${node}: ${step}`);
      if (steps.length > 0) shown.set(node, steps.at(-1)!);
    }
    const failed = found.filter(([, { status }]) => status === 'failed');
    if (found.every(([, { status }]) => status === 'booted' || status === 'failed')) {
      for (const [node, { why }] of failed) await print(invocation, `${node}: ${why}`);
      return failed.length > 0 ? 1 : 0;
    }
    await sleep(interval, undefined, { signal }).catch(() => {});
    if (signal.aborted) return 0;
  }
}

export const answers = musterCommand({
  usage: `Usage: muster answers NODERANGE [FILE]

Shows the files that the installers of nodes get, as muster would make them now. Changes nothing; token and password hash are hidden.`,
  operands: [1, 2, 'Name one noderange, and a file if you want only that one.'],
  common: reading,
  async run(invocation, call) {
    const { client, stdout, stderr } = invocation;
    const [range = '', file] = call.operands;
    const found = (await client.get(path('nodes', range, 'answers'))) as Readonly<
      Record<string, Readonly<Record<string, string>>>
    >;
    const { format } = call.common;
    const shown = Object.entries(found).flatMap(([node, files]) =>
      Object.entries(files)
        .filter(([name]) => file === undefined || name === file)
        .map(([name, text]) => ({ node, file: name, text })),
    );
    if (shown.length === 0) {
      const names = [...new Set(Object.values(found).flatMap((files) => Object.keys(files)))];
      stderr.line(`There is no file ${oneLine(file ?? '')}; there are ${names.join(', ') || 'none'}.`);
      return 1;
    }
    if (format === 'json') return say(invocation, JSON.stringify(found, null, 2));
    if (format) await writeData(invocation, format, shown);
    else
      for (const { node, file: name, text } of shown) {
        // One file alone can be put into a checker.
        if (shown.length > 1) await stdout.line(`==> ${node}: ${oneLine(name)} <==`);
        for (const line of text.replace(/\n$/, '').split('\n')) await stdout.line(oneLine(line));
      }
    return 0;
  },
});
