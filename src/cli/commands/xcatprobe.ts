import { type Call, type Invocation, say, xcatCommand } from '../command.ts';
import { checks, wireOf, wireOptions } from '../muster/check-list.ts';
import { everyNode } from '../client.ts';
import { UsageError } from '../errors.ts';
import type { Findings } from '../muster/checks.ts';
import { errorLine } from '../lines.ts';
import { flag, refused, valued, verbose } from '../options.ts';

const list = `Supported sub commands are:\n${checks.map(({ name, about }) => `${name.padEnd(16)} ${about}`).join('\n')}`;

export const xcatprobe = xcatCommand({
  usage: `Usage: xcatprobe [-w] SUBCOMMAND [-n NODERANGE]
       xcatprobe [-w] detect_dhcpd -i INTERFACE [-m MAC] [-d SECONDS]
       xcatprobe -l
       xcatprobe -h

Looks at one part of the cluster and says what is wrong. muster doctor does the same.`,
  options: {
    l: flag('list the sub-commands'),
    w: flag('accepted for scripts; lines are always whole'),
    n: valued('NODERANGE', 'the nodes to look at; usually all'),
    ...wireOptions,
    t: refused('the check looks once; muster boot NODERANGE --watch waits.', 'value'),
    r: refused('muster boot NODERANGE shows the last boots of each node.', 'value'),
    ...verbose,
  },
  version: false,
  bare: 1,
  operands: 1,
  run(invocation, call) {
    const [name] = call.operands;
    if (call.flag('l')) {
      if (name !== undefined)
        throw new UsageError(`-l lists the sub-commands. Leave -l out to run ${name}, or leave "${name}" out.`);
      return say(invocation, list);
    }
    if (name === undefined) return say(invocation, xcatprobe.usage, 1);
    return probe(invocation, call, name);
  },
});

function probe(invocation: Invocation, call: Call, name: string): Promise<number> | number {
  const check = checks.find((each) => each.name === name);
  const refuse = (text: string): number => {
    invocation.stderr.line(errorLine(text));
    return 1;
  };
  if (!check) return refuse(`There is no sub-command "${name}". xcatprobe -l lists them.`);
  if (check.instead !== undefined) return refuse(check.instead);
  const range = call.value('n');
  if (range !== undefined && !check.ofNodes) return refuse(`${name} is not about nodes; leave out -n.`);
  return report(invocation, check.run(invocation, range ?? everyNode, wireOf(call, check)));
}

async function report({ stdout }: Invocation, findings: Findings): Promise<number> {
  let code = 0;
  for await (const { well, what, text } of findings) {
    if (!well) code = 1;
    await stdout.line(`${well ? '[ OK ]' : '[FAIL]'} ${what}: ${text}`);
  }
  return code;
}
