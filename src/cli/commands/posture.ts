import { path } from '../client.ts';
import { musterCommand } from '../command.ts';
import { readingNodes } from '../common-options.ts';
import { codeOf } from '../nodes/node-command.ts';
import { workOnNodes } from '../nodes/work.ts';
import { flag } from '../options.ts';

interface Report {
  readonly level?: string;
  readonly firmware?: Readonly<Record<string, string>>;
  readonly findings?: readonly { readonly level: string; readonly name: string; readonly message: string }[];
}

export const posture = musterCommand({
  usage: `Usage: muster posture NODERANGE [--all] [--fold]

Shows how well the BMCs of nodes are protected and kept: encryption, accounts, certificates, clock, event log. Each line has a level
(note, warning or danger), a name, and what to do. It only reads, and tries no password. The exit status is 1 if there is a danger, or
if a node failed.`,
  options: { 'all|a': flag('also what is as it should be, and versions of firmware') },
  operands: [1, 1, 'Name one noderange; separate nodes by commas.'],
  common: readingNodes,
  async run(invocation, call) {
    const [range = ''] = call.operands;
    const isAll = call.flag('all');
    let isDangerous = false;
    const report = {
      range,
      lines: (value: unknown) => linesOf(value ?? {}, isAll),
      data(value: unknown) {
        isDangerous ||= (value as Report).level === 'danger';
        return value;
      },
    };
    const tally = await workOnNodes(
      invocation,
      { method: 'GET', at: path('nodes', range, 'posture') },
      report,
      call.common,
    );
    return isDangerous ? 1 : codeOf(tally);
  },
});

function linesOf({ firmware = {}, findings = [] }: Report, isAll: boolean): readonly string[] {
  const shown = findings.filter(({ level }) => isAll || level !== 'ok');
  const versions = isAll ? Object.entries(firmware).map(([name, version]) => `firmware: ${name} ${version}`) : [];
  const lines = shown.map(({ level, name, message }) => `${level}: ${name}: ${message}`);
  return lines.length + versions.length === 0 ? ['ok'] : [...versions, ...lines];
}
