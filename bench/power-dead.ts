import { defaultTiming } from '../src/protocols/ipmi/peer.ts';
import { type BmcLab, startBmcs } from '../test/lab/bmc.ts';
import { atMost, type Benchmark, compare, figure, median } from './report.ts';
import { startMuster } from './server.ts';
import { coolDown, ensureSimulators, putNodes } from './service-processors.ts';
import { powerStream, type Streamed } from './stream.ts';

const count = 1_000;
const deadOnes = 50;
const rounds = 5;

async function setDead(lab: BmcLab, dead: boolean): Promise<void> {
  for (let i = 0; i < deadOnes; i++) await lab.fault((i * count) / deadOnes + 1, { loss: dead ? 100 : 0 });
}

/** Whether BMCs that do not answer hold up those that do; no session is open. */
export const powerDead: Benchmark = {
  name: 'power-dead',
  async *rows() {
    ensureSimulators();
    const lab = await startBmcs({ count, prefix: '127.74', perProcess: 100 });
    try {
      const muster = await startMuster();
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      client.close();
      const stream = powerStream(muster);
      const taken = { live: [] as Streamed[], dead: [] as Streamed[] };
      await stream.ask('bmc');
      for (let round = 0; round < rounds; round++) {
        for (const dead of [false, true]) {
          await coolDown([lab]);
          await setDead(lab, dead);
          const streamed = await stream.ask('bmc');
          const silent = dead ? deadOnes : 0;
          if (streamed.errors !== silent || streamed.values !== count - silent)
            throw new Error(`${streamed.values} values and ${streamed.errors} errors of ${count} nodes.`);
          taken[dead ? 'dead' : 'live'].push(streamed);
        }
        await setDead(lab, false);
      }
      stream.close();
      await muster.stop();
      const all = median(taken.live.map(({ whole }) => whole));
      const answered = median(taken.dead.map(({ lastValue }) => lastValue));
      const whole = median(taken.dead.map((streamed) => streamed.whole));
      const allowed = defaultTiming.timeout + all;
      const name = `${deadOnes} of ${count} BMCs dead`;
      yield compare(`${name}: last answer of the others`, answered, all, 'ms', atMost(1.2), 'all alive');
      yield compare('  the whole', whole, allowed, 'ms', atMost(1), `one deadline + ${figure(all)} =`);
    } finally {
      await lab.stop();
    }
  },
};
