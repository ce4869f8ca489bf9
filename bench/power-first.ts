import { startBmcs } from '../test/lab/bmc.ts';
import { fanOuts, ipmipower } from './ipmipower.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';
import { newDirectory, startMuster } from './server.ts';
import { askPower, type Cost, ensureSimulators, putNodes } from './service-processors.ts';

const count = 500;
const starts = 5;

/** The first request of a process that has just said that it is ready, of which nothing is compiled yet, against ipmipower. */
export const powerFirst: Benchmark = {
  name: 'power-first',
  async *rows() {
    ensureSimulators();
    const lab = await startBmcs({ count, prefix: '127.75', perProcess: 100 });
    try {
      const data = newDirectory();
      const preparing = await startMuster({ data });
      const connection = await preparing.connect();
      await putNodes(connection, 'bmc', 'ipmi', lab.addresses);
      connection.close();
      await preparing.stop();
      const own: Cost[] = [];
      const others = fanOuts.map((fanOut) => ({ fanOut, walls: [] as number[] }));
      for (let round = 0; round < starts; round++) {
        const muster = await startMuster({ data });
        const client = await muster.connect();
        own.push(await askPower([muster], client, 'bmc', count));
        client.close();
        await muster.stop();
        for (const { fanOut, walls } of others) walls.push((await ipmipower(lab.addresses, fanOut)).wall);
      }
      const best = others
        .map(({ fanOut, walls }) => ({ fanOut, wall: median(walls) }))
        .reduce((a, b) => (b.wall < a.wall ? b : a));
      const wall = median(own.map((cost) => cost.wall));
      const name = `ipmipower -F ${best.fanOut}`;
      yield compare(`Power of ${count} BMCs, first request of a process`, wall, best.wall, 'ms', atMost(1.6), name);
    } finally {
      await lab.stop();
    }
  },
};
