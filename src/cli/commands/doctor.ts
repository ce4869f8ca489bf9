import { type Invocation, musterCommand, say } from '../command.ts';
import { UsageError } from '../errors.ts';
import { valued } from '../options.ts';
import { checks, wireOf, wireOptions } from '../muster/check-list.ts';
import { everyNode } from '../client.ts';
import { checkClient, type Findings } from '../muster/checks.ts';

export const doctor = musterCommand({
  usage: `Usage: muster doctor
       muster doctor CHECK [-n NODERANGE]

Checks whether this client can work: is the server reached and well, is its certificate good, do the clocks agree, is the login valid,
what may it do, and, for those who may read the server's metrics, do the sources of accounts answer and do the disks have room. Then the
server looks at itself (for those with full rights or a policy rule for doctor): ports, certificates, daemons, permissions, database,
backups, time, boot loaders, the networks of BMCs and nodes, DNS and DHCP as nodes see them. A line that begins with WRONG says how to
mend it. The exit status is 0 if all is well, 1 if something is wrong, 3 if the server is not reached or does not know you.

CHECK looks at one thing, as xcatprobe does:

${checks.map(({ name, about }) => `  ${name.padEnd(13)}   ${about}`).join('\n')}`,
  options: { 'n|noderange': valued('NODERANGE', 'the nodes to look at; usually all'), ...wireOptions },
  operands: [0, 1, 'Name one check.'],
  run(invocation, call) {
    const [name] = call.operands;
    const range = call.value('n');
    if (name === undefined) {
      if (range !== undefined) throw new UsageError('-n is for a check: muster doctor nodecheck -n NODERANGE.');
      return report(invocation, checkClient(invocation));
    }
    const check = checks.find((each) => each.name === name);
    if (!check)
      throw new UsageError(`There is no check "${name}"; there are ${checks.map((each) => each.name).join(', ')}.`);
    if (check.instead !== undefined) return say(invocation, check.instead, 1);
    if (range !== undefined && !check.ofNodes) throw new UsageError(`${name} is not about nodes; leave out -n.`);
    return report(invocation, check.run(invocation, range ?? everyNode, wireOf(call, check)));
  },
});

async function report({ stdout }: Invocation, findings: Findings): Promise<number> {
  let code = 0;
  for await (const { well, what, text, code: bad = 1 } of findings) {
    if (!well) code = Math.max(code, bad);
    await stdout.line(`${well ? 'ok   ' : 'WRONG'}  ${what.padEnd(11)}  ${text}`);
  }
  return code;
}
