import { startBmcs } from '../test/lab/bmc.ts';
import { IpmiSensors } from './ipmi-sensors.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { startMuster } from './server.ts';
import { askAll, coolDown, type Cost, ensureSimulators, putNodes } from './service-processors.ts';

const count = 1_000;
const rounds = 5;
/** The first is its own default; beyond the second it does not get faster. */
const fanOuts = [64, 1_000] as const;

/** All sensors of many BMCs whose records are known, none with a session, against ipmi-sensors at its best fan-out. */
export const vitals: Benchmark = {
  name: 'vitals',
  async *rows() {
    ensureSimulators();
    const lab = await startBmcs({ count, prefix: '127.74', perProcess: 100 });
    try {
      const muster = await startMuster();
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      const sensors = new IpmiSensors(lab.addresses);
      const ask = (): Promise<Cost> => askAll(muster, client, 'bmc/vitals', count, 'Inlet Temp');
      await Promise.all([sensors.read(64), ask()]);
      const others = fanOuts.map((fanOut) => ({ fanOut, costs: [] as Cost[] }));
      const own: Cost[] = [];
      for (let round = 0; round < rounds; round++) {
        await coolDown([lab]);
        own.push(await ask());
        for (const { fanOut, costs } of others) costs.push(await sensors.read(fanOut));
      }
      client.close();
      await muster.stop();
      for (const [figure, unit, bar] of [
        ['wall', 'ms', atMost(0.8)],
        ['processor', 'us', undefined],
      ] as const) {
        const best = others
          .map(({ fanOut, costs }) => ({ fanOut, value: median(costs.map((cost) => cost[figure])) }))
          .reduce((a, b) => (b.value < a.value ? b : a));
        const what = figure === 'wall' ? `Vitals of ${count} BMCs, no session open` : '  CPU per BMC';
        const mine = median(own.map((cost) => cost[figure]));
        yield compare(what, mine, best.value, unit, bar, `ipmi-sensors --fanout=${best.fanOut}`);
      }
    } finally {
      await lab.stop();
    }
  },
};
