import { join } from 'node:path';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';

type Times = Readonly<Record<'muster' | 'T5' | 'T4', readonly number[]>>;

/** A look at 10,000 nodes over a cable, one in twenty down, against fping and nmap on the same addresses and ports, in turn. */
export const nodestat: Benchmark = {
  name: 'nodestat',
  async *rows() {
    const inside = join(import.meta.dirname, 'nodestat-inside.ts');
    const printed = await run(['unshare', '--net', process.execPath, inside]);
    const times = JSON.parse(printed.trim().split('\n').at(-1)!) as Times;
    const [own, T5, T4] = [median(times.muster), median(times.T5), median(times.T4)];
    const better = T5 < T4 ? 'fping+nmap -T5' : 'fping+nmap -T4';
    yield compare('nodestat of 10,000 nodes, 5 % down', own, Math.min(T5, T4), 'ms', atMost(1), better);
  },
};
