import { join } from 'node:path';
import { nodeName } from './cluster.ts';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { startMusterWith } from './server.ts';

const nodes = 10_000;
const rounds = 15;
const muster = join(import.meta.dirname, '..', 'bin', 'muster');

/** Milliseconds on the clock and of processors that a shell command takes, with all it starts. */
async function timed(
  command: string,
  env: Readonly<Record<string, string>>,
): Promise<{ wall: number; processor: number }> {
  const output = await run(['bash', '-c', `TIMEFORMAT='timed %R %U %S'; { time { ${command}; } > /dev/null; } 2>&1`], {
    env,
  });
  const [, wall, user, system] = /timed ([\d.]+) ([\d.]+) ([\d.]+)/.exec(output)!.map(Number);
  return { wall: wall! * 1_000, processor: (user! + system!) * 1_000 };
}

/** What commands cost their callers, against curl and jq doing the same over the same socket. */
export const commandLine: Benchmark = {
  name: 'command-line',
  async *rows() {
    const server = await startMusterWith(nodes);
    const socket = join(server.data, 'muster.sock');
    const curl = (path: string) => `curl -s --unix-socket ${socket} http://localhost/muster${path}`;
    const one = nodeName(1);
    const attributes = `to_entries[] | "Object name: \\(.key)", (.value | to_entries[] | "    \\(.key)=\\(.value)")`;
    const tasks = [
      { what: 'lsdef n1', ours: `${muster} lsdef ${one}`, theirs: `${curl(`/nodes/${one}`)} | jq -r '${attributes}'` },
      {
        what: `nodels (${nodes.toLocaleString('en-US')} nodes)`,
        ours: `${muster} nodels`,
        theirs: `${curl('/nodes')} | jq -r '.[]'`,
      },
      {
        what: 'lsdef -l',
        ours: `${muster} lsdef -l`,
        theirs: `${curl('/nodes/ALLRESOURCES')} | jq -r '${attributes}'`,
      },
    ];
    const env = { MUSTER_SOCKET: socket };
    for (const { what, ours, theirs } of tasks) {
      const figures = {
        ours: [] as number[],
        theirs: [] as number[],
        oursCpu: [] as number[],
        theirsCpu: [] as number[],
      };
      for (let round = 0; round < rounds; round++) {
        const [mine, peer] = [await timed(ours, env), await timed(theirs, env)];
        figures.ours.push(mine.wall);
        figures.oursCpu.push(mine.processor);
        figures.theirs.push(peer.wall);
        figures.theirsCpu.push(peer.processor);
      }
      yield compare(`${what}, wall`, median(figures.ours), median(figures.theirs), 'ms', atMost(1.5), 'curl | jq');
      yield compare(`${what}, CPU`, median(figures.oursCpu), median(figures.theirsCpu), 'ms', atMost(1.5), 'curl | jq');
    }
    const first: number[] = [];
    // Not until the command has ended, which a pipe would wait for.
    for (let round = 0; round < rounds; round++)
      first.push((await timed(`read -r -N 1 < <(${muster} lsdef ${one})`, env)).wall);
    yield compare('lsdef n1, start to first byte', median(first), 100, 'ms', atMost(1), 'at most');
    await server.stop();
  },
};
