import { startLightBmcs } from '../test/lab/light-bmc.ts';
import { memory } from './process.ts';
import { atMost, type Benchmark, compare, figure } from './report.ts';
import { startMuster } from './server.ts';
import { askPower, type Cost, putNodes, slowSimulators } from './service-processors.ts';

const count = 10_000;
const allowed = 600;
const warmRounds = 5;

/** So many BMCs that memory counts; the simulator is our own light one. */
export const powerMany: Benchmark = {
  name: 'power-many',
  async *rows() {
    const lab = await startLightBmcs({ count, prefix: '127.77' });
    try {
      const muster = await startMuster({ env: slowSimulators });
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      const cold = await askPower([muster], client, 'bmc', count);
      const afterFirst = memory(muster.pid);
      const warm: Cost[] = [];
      for (let round = 0; round < warmRounds; round++) warm.push(await askPower([muster], client, 'bmc', count));
      const { highest } = memory(muster.pid);
      client.close();
      await muster.stop();
      const name = count.toLocaleString('en-US');
      yield compare(`Power of ${name} BMCs: highest memory`, highest, allowed, 'MiB', atMost(1), 'allowed');
      yield compare('  after the first request', afterFirst.highest, allowed, 'MiB', undefined, 'allowed');
      for (const [what, { wall, processor }] of [['first', cold] as const, ['last', warm.at(-1)!] as const]) {
        const took = `${figure(wall)} ms`;
        const each = `${figure(processor)} us CPU each`;
        yield { what: `  the ${what} request`, muster: took, floor: each, ratio: undefined, bar: undefined };
      }
    } finally {
      await lab.stop();
    }
  },
};
