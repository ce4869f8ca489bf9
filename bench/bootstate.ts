import type { Call, Connection } from './client.ts';
import { nodeRange } from './cluster.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { root, startMusterWith } from './server.ts';

const sizes = [2_500, 10_000];
const rounds = 5;
/** In about the time of a PUT: it reads the image and the node besides, and has a result for each node. */
const bar = atMost(1.5);
const image = { imagetype: 'linux', provmethod: 'netboot', osarch: 'x86_64' };

/** The same columns of the same nodes, written by a change of attributes. */
const attributes = (round: number) => ({
  os: `os${round}`,
  profile: `p${round}`,
  provmethod: `img${round}`,
  arch: 'x86_64',
  currstate: `netboot os${round}-x86_64-p${round}`,
});

async function timeOf(client: Connection, call: (round: number) => Call): Promise<number> {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round++) {
    taken.push((await client.expect(call(round))).took);
  }
  return median(taken);
}

/** What nodes boot, of all of them in one request. */
export const bootstate: Benchmark = {
  name: 'bootstate',
  async *rows() {
    for (const size of sizes) {
      const muster = await startMusterWith(size);
      const client = await muster.connect();
      for (let round = 0; round < rounds; round++) {
        const body = { ...image, osvers: `os${round}`, profile: `p${round}` };
        await client.expect({ method: 'POST', path: `${root}/osimages/img${round}`, body });
      }
      const path = `${root}/nodes/${nodeRange(1, size)}`;
      const set = await timeOf(client, (round) => ({
        method: 'PUT',
        path: `${path}/bootstate`,
        body: { osimage: `img${round}` },
      }));
      const put = await timeOf(client, (round) => ({ method: 'PUT', path, body: attributes(round) }));
      client.close();
      await muster.stop();
      yield compare(`PUT bootstate of ${size} nodes, an image`, set, put, 'ms', bar, 'PUT of the same');
    }
  },
};
