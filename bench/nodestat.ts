import { join } from 'node:path';
import { run } from './process.ts';
import { atMost, type Benchmark, compare, median } from './report.ts';

/** A look at 10,000 nodes of which one in twenty is down, against fping and nmap on the same addresses and ports. */
export const nodestat: Benchmark = {
  name: 'nodestat',
  async *rows() {
    const inside = join(import.meta.dirname, 'nodestat-inside.ts');
    const printed = await run(['unshare', '--net', process.execPath, inside]);
    const { muster, hand } = JSON.parse(printed.trim().split('\n').at(-1)!) as { muster: number[]; hand: number[] };
    yield compare('nodestat of 10,000 nodes, 5 % down', median(muster), median(hand), 'ms', atMost(1.3), 'fping+nmap');
  },
};
