import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startBmcs } from '../test/lab/bmc.ts';
import { bareRound } from './bare-rounds.ts';
import { ipmipower } from './ipmipower.ts';
import { serverCore, start } from './process.ts';
import { atMost, type Bar, type Benchmark, compare, median, type Row } from './report.ts';
import { newDirectory, startMuster } from './server.ts';
import { askPower, type Cost, ensureSimulators, putNodes } from './service-processors.ts';
import { startRedfish } from '../test/lab/redfish.ts';

const rounds = 40;
/** Rounds at the beginning that do not count. */
const warmUp = 15;

interface Subject {
  readonly what: string;
  readonly mgt: string;
  readonly addresses: readonly string[];
  /** The program that does the least there is to do. */
  readonly bare: string;
  readonly bareName: string;
  readonly bar: Bar;
  /** What asks the same of all of them, and the bar of the wall against it. */
  readonly peer?: { readonly name: string; readonly bar: Bar; ask(): Promise<Cost> };
}

/** CPU of both for each BMC, by turns. */
async function* measure({ what, mgt, addresses, bare, bareName, bar, peer }: Subject): AsyncIterable<Row> {
  const muster = await startMuster();
  const client = await muster.connect();
  await putNodes(client, 'sp', mgt, addresses);
  const file = join(newDirectory(), 'addresses');
  writeFileSync(file, addresses.join('\n'));
  const command = [process.execPath, join(import.meta.dirname, bare), file];
  const floor = await start(command, { core: serverCore, ready: /ready\n/ });
  const taken = { muster: [] as number[], bare: [] as number[], wall: [] as number[], peer: [] as number[] };
  for (let round = 1; round <= warmUp + rounds; round++) {
    const spent = ((await bareRound(floor, round)) * 1000) / addresses.length;
    const { wall, processor } = await askPower([muster], client, 'sp', addresses.length);
    if (round <= warmUp) continue;
    taken.bare.push(spent);
    taken.muster.push(processor);
    taken.wall.push(wall);
    if (peer && round % 5 === 0) taken.peer.push((await peer.ask()).wall);
  }
  client.close();
  await Promise.all([muster.stop(), floor.stop()]);
  const [own, least] = [median(taken.muster), median(taken.bare)];
  yield compare(`${what}: CPU each`, own, least, 'us', bar, bareName);
  const wall = median(taken.wall);
  if (peer) yield compare('  wall', wall, median(taken.peer), 'ms', peer.bar, peer.name);
  else yield { what: '  wall', muster: `${Math.round(wall)} ms`, floor: '', ratio: undefined, bar: undefined };
}

/** The power state of BMCs that muster has talked to a moment ago, against the least a program can do. */
export const powerWarm: Benchmark = {
  name: 'power-warm',
  async *rows() {
    ensureSimulators();
    const count = 1_000;
    const lab = await startBmcs({ count, prefix: '127.72', perProcess: 100 });
    try {
      yield* measure({
        what: `Power of ${count} BMCs, sessions open`,
        mgt: 'ipmi',
        addresses: lab.addresses,
        bare: 'bare-ipmi.ts',
        bareName: 'bare exchange',
        bar: atMost(2),
        peer: { name: 'ipmipower -F 256', bar: atMost(0.35), ask: () => ipmipower(lab.addresses, 256) },
      });
    } finally {
      await lab.stop();
    }
  },
};

export const powerRedfish: Benchmark = {
  name: 'power-redfish',
  async *rows() {
    const count = 500;
    const lab = await startRedfish({ count, prefix: '127.73' });
    try {
      yield* measure({
        what: `Power of ${count} Redfish services, sessions open`,
        mgt: 'redfish',
        addresses: lab.addresses,
        bare: 'bare-redfish.ts',
        bareName: 'bare undici',
        bar: atMost(1.5),
      });
    } finally {
      await lab.stop();
    }
  },
};
