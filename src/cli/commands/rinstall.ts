import { path, type StreamLine } from '../client.ts';
import { errorLine } from '../lines.ts';
import { namesIn } from '../nodes/confirm.ts';
import { nodeCommand } from '../nodes/node-command.ts';
import { failureText, workOnNodes } from '../nodes/node-work.ts';

const usage = `Usage: rinstall NODERANGE [boot | shell | runcmd=COMMAND | osimage[=NAME]]

  Boots nodes from the network: their state, next boot from there, power. Without a word it is the image of their provmethod.
  --wait   wait until they have booted`;

const known = /^(boot|shell|standby|shutdown|run(cmd|image)=.+|osimage(=.*)?)$/;

export const command = nodeCommand({
  usage,
  async run({ invocation, range, words, own }) {
    const { client, stdout, stderr } = invocation;
    const [state = 'osimage'] = words.filter((word) => !word.startsWith('-'));
    const names = await namesIn(client, range);
    if (!known.test(state)) {
      stdout.line(usage);
      stderr.line(errorLine(`Unknown state ${state} requested`, client.server));
      return 1;
    }
    const failed = new Map<string, string[]>();
    const failure = (line: StreamLine) => {
      const text = failureText(line);
      const step = stepOf(text, line.error ?? '');
      failed.set(step, [...(failed.get(step) ?? []), line.node!]);
      if (step === 'netboot')
        return { stderr: [errorLine(`${line.node}: Missing the 'netboot' attribute.`, client.server)] };
      return { stdout: [`${line.node}: ${text}`] };
    };
    const image = /^osimage(?:=(.*))?$/.exec(state);
    const body = image ? (image[1] ? { osimage: image[1] } : { action: 'osimage' }) : { action: state };
    const waits = words.includes('--wait');
    const request = {
      method: waits ? 'POST' : 'PUT',
      at: path('nodes', range, 'provision'),
      body: waits && 'action' in body ? { state: body.action } : body,
    } as const;
    // Who fails before anything begins is not among those that are provisioned.
    const told = { question: 'Boot anew', range, lines: () => [], failure };
    const before = own.curl
      ? undefined
      : () => names.length > 0 && stdout.line(`Provision node(s): ${names.join(' ')}`);
    const { ok } = await workOnNodes(invocation, request, { ...told, ...(before ? { before } : {}) }, own);
    for (const [step, nodes] of failed) tellStep(step, nodes, ok);
    return failed.size > 0 ? 1 : 0;

    function tellStep(step: string, nodes: readonly string[], good: number): void {
      const say = (text: string): unknown => stderr.line(errorLine(text, client.server));
      if (step === 'netboot') {
        if (good === 0) say('No available nodes for provision.');
      } else if (step === 'nodeset') say(`Failed to run 'nodeset' against the node: ${nodes.join(',')}`);
      else say(`Failed to run '${step}' against the following nodes: ${nodes.join(',')}`);
    }
  },
});

/** The step a node failed at, as its sentence tells. */
function stepOf(text: string, error: string): string {
  if (/netboot/.test(error) || text.startsWith('Missing the')) return 'netboot';
  if (/MAC address|image|state/i.test(text)) return 'nodeset';
  return 'rsetboot';
}
