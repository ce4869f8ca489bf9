import { startBmcs } from '../test/lab/bmc.ts';
import { IpmiSensors } from './ipmi-sensors.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { startMuster } from './server.ts';
import { askAll, coolDown, type Cost, ensureSimulators, putNodes } from './service-processors.ts';

const count = 1_000;
const rounds = 5;
/** As many at once as muster works on, which is more than there are. */
const fanOut = count;

/** All sensors of many BMCs whose records are known, none with a session, against ipmi-sensors that has them in its cache. */
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
      const ask = (): Promise<Cost> => askAll([muster], client, 'bmc/vitals', count, 'Inlet Temp');
      await Promise.all([sensors.read(fanOut), ask()]);
      let askedAt = performance.now();
      const costs = { own: [] as Cost[], peer: [] as Cost[] };
      for (let round = 0; round < rounds; round++) {
        await coolDown([lab], askedAt);
        costs.own.push(await ask());
        askedAt = performance.now();
        // Meanwhile muster's sessions come to their end.
        costs.peer.push(await sensors.read(fanOut));
      }
      client.close();
      await muster.stop();
      for (const [figure, what, unit, bar] of [
        ['wall', `Vitals of ${count} BMCs, no session open`, 'ms', atMost(0.8)],
        ['processor', '  CPU per BMC', 'us', undefined],
      ] as const) {
        const [own, peer] = [costs.own, costs.peer].map((all) => median(all.map((cost) => cost[figure])));
        yield compare(what, own!, peer!, unit, bar, `ipmi-sensors --fanout=${fanOut}`);
      }
    } finally {
      await lab.stop();
    }
  },
};
