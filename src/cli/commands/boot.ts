import { path } from '../client.ts';
import type { StreamLine } from '../replies.ts';
import { errorLine, nodeLine } from '../lines.ts';
import { codeOf, type NodeCall, nodeCommand } from '../nodes/node-command.ts';
import { failureText, namesIn, workOnNodes } from '../nodes/work.ts';
import { flag, type OptionTable, refused } from '../options.ts';

const forceFlag = flag('also an image that cannot boot now: not built, not packed, or without a kernel');
const madeWithImage = refused('kernel and RAM disk are made and checked with the image, by genimage and copycds.');
const kernelOptions: OptionTable = { noupdateinitrd: madeWithImage, ignorekernelchk: madeWithImage };
const forced = (call: Pick<NodeCall, 'flag'>): { force?: true } => (call.flag('force') ? { force: true } : {});

export const nodeset = nodeCommand({
  usage: `Usage: nodeset NODERANGE STATE

  stat                      what nodes do when they boot from the network
  osimage[=NAME]            boot this image; without a name the one of provmethod
  boot, shell, standby, offline, shutdown
  runcmd=COMMAND, runimage=URL
  next, enact               the next state of the list; the current state again
  states joined by commas follow one another`,
  options: { 'verbose|V': flag('name the server'), force: forceFlag, ...kernelOptions },
  words: 1,
  async run(call) {
    const { invocation, range, words } = call;
    const { client, stdout, stderr } = invocation;
    const shown = call.flag('verbose');
    const [state] = words;
    if (state === undefined) {
      // The answer says who the server is, which the line names.
      await client.get(path('nodes', range, 'attrs', 'groups'));
      stderr.line(errorLine("Invalid argument: ''", client.server));
      stdout.line(nodeset.usage);
      return 1;
    }
    const failed: StreamLine[] = [];
    const report = reportOf(call, shown, failed);
    const at = path('nodes', range, 'bootstate');
    const request =
      state === 'stat'
        ? ({ method: 'GET', at } as const)
        : ({ method: 'PUT', at, body: { state, ...forced(call) } } as const);
    const tally = await workOnNodes(invocation, request, report, call.common);
    await reportNotConfigured(call, failed);
    return codeOf(tally);
  },
});

const noDriver = 'Unable to identify plugin';

function reportOf({ invocation: { client, env } }: NodeCall, shown: boolean, failed: StreamLine[]) {
  return {
    lines: () => [],
    result(line: StreamLine) {
      const node = line.node!;
      const { server } = client;
      if (line.error === undefined) {
        const { bootstat, bootstate } = line.value as { bootstat?: string; bootstate?: string };
        return { stdout: [nodeLine(node, bootstat ?? bootstate ?? '', { env, server, shown })], stderr: [] };
      }
      failed.push(line);
      const text = typeof line['reference'] === 'string' ? line['reference'] : line.error;
      return { stdout: [], stderr: [`${node}: [${server ?? ''}]: Error: ${text}`] };
    },
  };
}

/** The summary that follows errors of nodes, once for each way of booting. */
async function reportNotConfigured(
  { invocation: { client, stderr }, range }: NodeCall,
  failed: readonly StreamLine[],
): Promise<void> {
  const names = failed.flatMap(({ node, reference }) =>
    typeof reference === 'string' && reference.startsWith(noDriver) ? [] : node!,
  );
  if (names.length === 0) return;
  const attributes = (await client.get(path('nodes', range, 'attrs', 'netboot'))) as Record<
    string,
    { netboot?: string }
  >;
  for (const method of new Set(names.map((name) => attributes[name]?.netboot ?? '')))
    stderr.line(
      errorLine(
        `Failed to generate ${method} configurations for some node(s) on ${client.server}. Check xCAT log file for more details.`,
        client.server,
      ),
    );
}

const known = /^(boot|shell|standby|shutdown|run(cmd|image)=.+|osimage(=.*)?)$/;

export const rinstall = nodeCommand({
  usage: `Usage: rinstall NODERANGE [boot | shell | runcmd=COMMAND | osimage[=NAME]] [--media]

  Sets the boot state of nodes, makes them boot from the network once, and switches them on or resets them. Without a state each node
  boots the image of its provmethod. With --wait it waits until they have booted. With --media they boot from a CD that muster makes and
  their BMCs show them.`,
  options: {
    force: forceFlag,
    media: flag('from virtual media instead of the network; for machines with Redfish and UEFI'),
    'console|c': refused(
      'it opens no console; muster consoles NODERANGE shows those of several nodes, and rcons that of one.',
    ),
    'uefimode|u': refused('machines boot by the mode that their firmware is set to.'),
    ...kernelOptions,
  },
  words: 1,
  async run(call) {
    const { invocation, range, words, common } = call;
    const { client, stdout, stderr } = invocation;
    const [state = 'osimage'] = words;
    const names = await namesIn(client, range);
    if (!known.test(state)) {
      stdout.line(rinstall.usage);
      stderr.line(errorLine(`Unknown state ${state} requested`, client.server));
      return 1;
    }
    const failed = new Map<string, string[]>();
    const failure = (line: StreamLine) => {
      const text = failureText(line, invocation);
      // What Ctrl-C ended has failed at no step.
      if (invocation.signal.aborted) return { stdout: [`${line.node}: ${text}`] };
      const step = stepOf(text, line.error ?? '');
      failed.set(step, [...(failed.get(step) ?? []), line.node!]);
      if (step === 'netboot')
        return { stderr: [errorLine(`${line.node}: Missing the 'netboot' attribute.`, client.server)] };
      return { stdout: [`${line.node}: ${text}`] };
    };
    const image = /^osimage(?:=(.*))?$/.exec(state);
    const body = image ? (image[1] ? { osimage: image[1] } : { action: 'osimage' }) : { action: state };
    const waits = common.wait;
    const request = {
      method: waits ? 'POST' : 'PUT',
      at: path('nodes', range, 'provision'),
      body: {
        ...(waits && 'action' in body ? { state: body.action } : body),
        ...forced(call),
        ...(call.flag('media') ? { media: true } : {}),
      },
    } as const;
    // Who fails before anything begins is not among those that are provisioned.
    const before = (): unknown => names.length > 0 && stdout.line(`Provision node(s): ${names.join(' ')}`);
    const report = { question: 'Reboot', range, lines: () => [], failure, ...(common.dryRun ? {} : { before }) };
    const tally = await workOnNodes(invocation, request, report, common);
    for (const [step, nodes] of failed) reportStep(step, nodes, tally.ok);
    return codeOf(tally);

    function reportStep(step: string, nodes: readonly string[], good: number): void {
      const say = (text: string): unknown => stderr.line(errorLine(text, client.server));
      if (step === 'netboot') {
        if (good === 0) say('No available nodes for provision.');
      } else if (step === 'nodeset') say(`Failed to run 'nodeset' against the node: ${nodes.join(',')}`);
      else say(`Failed to run '${step}' against the following nodes: ${nodes.join(',')}`);
    }
  },
});

/** The step a node failed at, by its sentence. */
function stepOf(text: string, error: string): string {
  if (/^it(s boot medium| (could not be set to boot|boots) from (the network|its medium))/.test(error))
    return 'rsetboot';
  if (/netboot/.test(error) || text.startsWith('Missing the')) return 'netboot';
  if (/MAC address|image|state/i.test(text)) return 'nodeset';
  return 'rsetboot';
}
