import { path } from '../client.ts';
import { musterCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { writeData } from '../formats.ts';
import { valued } from '../options.ts';
import { oneLine } from '../output.ts';
import { localTime } from '../times.ts';

interface Report {
  readonly noderange?: string;
  readonly watts: number;
  readonly time?: string;
  readonly drawn?: number;
  readonly bound?: number;
  readonly held?: boolean;
  readonly problems?: readonly string[];
  readonly nodes?: Readonly<Record<string, { drawn?: number; cap?: number; problem?: string }>>;
}

export const budget = musterCommand({
  usage: `Usage: muster budget show [NAME]
       muster budget set NAME --watts N [--nodes NODERANGE]
       muster budget remove NAME

Limits the power that nodes draw together. muster spreads the watts over the nodes by what they draw, caps them, and follows. Without --nodes
the nodes are those of the group NAME. set --dry-run shows how the watts would be spread.`,
  options: {
    watts: valued('N', 'with set: watts for all nodes together'),
    nodes: valued('NODERANGE', 'with set: the nodes'),
  },
  operands: [1, 2, 'Say what to do: show, set or remove, and with which power budget.'],
  common: ['format', 'dryRun', 'curl', 'yes'],
  async run(invocation, { operands, value, common }) {
    const [word, name] = operands;
    const { client, stdout } = invocation;
    const [watts, nodes] = [value('watts'), value('nodes')];
    if (word !== 'set' && (watts !== undefined || nodes !== undefined))
      throw new UsageError('--watts and --nodes go with set.');
    if (word === 'show') {
      const found =
        name === undefined
          ? ((await client.get('/powerbudgets')) as { powerbudgets: Record<string, Report> }).powerbudgets
          : { [name]: (await client.get(path('powerbudgets', name))) as Report };
      if (common.format) return writeData(invocation, common.format, listed(found));
      for (const [each, report] of Object.entries(found))
        for (const line of linesOf(each, report)) await stdout.line(line);
      return 0;
    }
    if (word !== 'set' && word !== 'remove') throw new UsageError(`"${word ?? ''}" is none of show, set and remove.`);
    if (name === undefined) throw new UsageError(`${word} needs the name of a power budget.`);
    const at = path('powerbudgets', name);
    if (word === 'remove') {
      await client.call('DELETE', at);
      await stdout.line(`${name}: removed. Its nodes get back the limits that they had before.`);
      return 0;
    }
    if (watts === undefined || !/^[1-9]\d{0,8}$/.test(watts))
      throw new UsageError('Say with --watts how many watts the nodes may draw together, for example --watts 12000.');
    if (common.dryRun) {
      const query = { watts, noderange: nodes ?? name };
      const planned = (await client.get(at, { query })) as Report;
      if (common.format) return writeData(invocation, common.format, listed({ [name]: planned }));
      for (const line of linesOf(name, planned)) await stdout.line(line);
      return 0;
    }
    await client.call('PUT', at, {
      body: { watts: Number(watts), ...(nodes === undefined ? {} : { noderange: nodes }) },
    });
    await stdout.line(`${name}: ${watts} W from now on. muster budget show ${name} tells whether that can be held.`);
    return 0;
  },
});

const listed = (found: Readonly<Record<string, Report>>): readonly object[] =>
  Object.entries(found).map(([name, report]) => ({ name, ...report }));

function linesOf(
  name: string,
  { noderange, watts, time, drawn, bound, held, problems = [], nodes = {} }: Report,
): string[] {
  const state = held === undefined ? 'not looked at yet' : held ? 'held' : 'not held';
  const figures = drawn === undefined ? '' : `, draws ${drawn} W, at most ${bound ?? 0} W`;
  const when = time === undefined ? '' : `, at ${localTime(time)}`;
  return [
    `${name}${noderange === undefined || noderange === name ? '' : ` (${oneLine(noderange)})`}: ${watts} W, ${state}${figures}${when}`,
    ...problems.map((problem) => `  ${oneLine(problem)}`),
    ...Object.entries(nodes).map(([node, { drawn: watt, cap, problem }]) => {
      const parts = [
        ...(watt === undefined ? [] : [`draws ${watt} W`]),
        ...(cap === undefined ? [] : [`cap ${cap} W`]),
        ...(problem === undefined ? [] : [oneLine(problem)]),
      ];
      return `  ${node}: ${parts.join(', ')}`;
    }),
  ];
}
