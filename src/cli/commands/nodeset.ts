import { path, type StreamLine } from '../client.ts';
import { errorLine, nodeLine } from '../lines.ts';
import { type NodeCall, nodeCommand } from '../nodes/node-command.ts';
import { workOnNodes } from '../nodes/node-work.ts';

const usage = `Usage: nodeset NODERANGE STATE

  stat                      what nodes do when they boot from the network
  osimage[=NAME]            boot this image; without a name the one of provmethod
  boot, shell, standby, offline, shutdown
  runcmd=COMMAND, runimage=URL
  next, enact               the next of several states; the present one again
  several states with commas follow one another`;

export const command = nodeCommand({
  usage,
  async run(call) {
    const { invocation, range, words } = call;
    const { client, stdout, stderr } = invocation;
    const shown = words.includes('-V') || words.includes('--verbose');
    const [state] = words.filter((word) => !word.startsWith('-'));
    if (state === undefined) {
      // Tells who the server is, which the line names.
      await client.get(path('nodes', range, 'attrs', 'groups'));
      stderr.line(errorLine("Invalid argument: ''", client.server));
      stdout.line(usage);
      return 1;
    }
    const failed: StreamLine[] = [];
    const lines = { ...telling(call, shown, failed) };
    const at = path('nodes', range, 'bootstate');
    const request =
      state === 'stat' ? ({ method: 'GET', at } as const) : ({ method: 'PUT', at, body: { state } } as const);
    await workOnNodes(invocation, request, lines, call.own);
    await tellNotConfigured(call, failed);
    return failed.length > 0 ? 1 : 0;
  },
});

const noDriver = 'Unable to identify plugin';

function telling({ invocation: { client, env } }: NodeCall, shown: boolean, failed: StreamLine[]) {
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
async function tellNotConfigured(
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
