import { type BmcLab, startBmcs } from '../test/lab/bmc.ts';
import { fanOuts, ipmipower } from './ipmipower.ts';
import { processorTime } from './process.ts';
import { atMost, type Bar, type Benchmark, compare, median, type Row } from './report.ts';
import { startMuster } from './server.ts';
import { askPower, coolDown, type Cost, ensureSimulators, putNodes } from './service-processors.ts';

const count = 1_000;
const perProcess = 100;
const rounds = 5;

interface Subject {
  readonly what: string;
  readonly group: string;
  readonly prefix: string;
  readonly delay?: number;
  readonly wallBar: Bar;
  readonly processorBar?: Bar;
}

const subjects: readonly Subject[] = [
  { what: '', group: 'bmc', prefix: '127.70', wallBar: atMost(0.9), processorBar: atMost(1.3) },
  { what: ' that answer after 50 ms', group: 'slow', prefix: '127.71', delay: 50, wallBar: atMost(1.2) },
];

class Measured {
  readonly subject: Subject;
  readonly lab: BmcLab;
  readonly muster: Cost[] = [];
  readonly others = fanOuts.map((fanOut) => ({ fanOut, costs: [] as Cost[] }));

  constructor(subject: Subject, lab: BmcLab) {
    this.subject = subject;
    this.lab = lab;
  }

  /** ipmipower with its best fan-out, for each figure by itself. `closing`: what muster does later to end a session. */
  *rows(first: Cost, closing: number): Iterable<Row> {
    const { what, wallBar, processorBar } = this.subject;
    const best = (figure: keyof Cost) =>
      this.others
        .map(({ fanOut, costs }) => ({ fanOut, value: median(costs.map((cost) => cost[figure])) }))
        .reduce((a, b) => (b.value < a.value ? b : a));
    const own = (figure: keyof Cost): number => median(this.muster.map((cost) => cost[figure]));
    const [wall, processor] = [best('wall'), best('processor')];
    const name = ({ fanOut }: { fanOut: number }): string => `ipmipower -F ${fanOut}`;
    yield compare(`Power of ${count} BMCs${what}, no session open`, own('wall'), wall.value, 'ms', wallBar, name(wall));
    yield compare('  first request after the start', first.wall, wall.value, 'ms', undefined, name(wall));
    const whole = own('processor') + closing;
    yield compare('  CPU per BMC', whole, processor.value, 'us', processorBar, name(processor));
    yield compare('  of it before the reply', own('processor'), processor.value, 'us', undefined, name(processor));
  }
}

/** The power state of many BMCs none of which has a session yet, against ipmipower. */
export const powerCold: Benchmark = {
  name: 'power-cold',
  async *rows() {
    ensureSimulators();
    const all: Measured[] = [];
    try {
      for (const subject of subjects) {
        const { prefix, delay } = subject;
        const lab = await startBmcs({ count, prefix, perProcess, ...(delay === undefined ? {} : { delay }) });
        all.push(new Measured(subject, lab));
      }
      yield* measure(all);
    } finally {
      await Promise.all(all.map(({ lab }) => lab.stop()));
    }
  },
};

async function* measure(all: readonly Measured[]): AsyncIterable<Row> {
  const muster = await startMuster();
  const client = await muster.connect();
  for (const { subject, lab } of all) await putNodes(client, subject.group, 'ipmi', lab.addresses);
  const firsts: Cost[] = [];
  for (const { subject } of all) firsts.push(await askPower([muster], client, subject.group, count));
  const closings: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = processorTime(muster.pid);
    await coolDown(all.map(({ lab }) => lab));
    closings.push(((processorTime(muster.pid) - before) * 1000) / count / all.length);
    for (const { subject, lab, muster: own, others } of all) {
      own.push(await askPower([muster], client, subject.group, count));
      for (const { fanOut, costs } of others) costs.push(await ipmipower(lab.addresses, fanOut));
    }
  }
  client.close();
  await muster.stop();
  for (const [index, measured] of all.entries()) yield* measured.rows(firsts[index]!, median(closings));
}
