import { spawn } from 'node:child_process';
import { startLightBmcs } from '../test/lab/light-bmc.ts';
import { bindTo, clientCore, memory } from './process.ts';
import { atMost, type Benchmark, compare, figure } from './report.ts';
import { startMuster } from './server.ts';
import { askAll, putNodes, slowSimulators } from './service-processors.ts';

const count = 10_000;
const allowed = 500;
/** Two for each core of a small machine. */
const busyProcesses = 4;

const readings = [
  { what: 'vitals', label: 'Inlet Temp' },
  { what: 'inventory', label: 'BMC Firmware' },
] as const;

/** So many BMCs beside processes that take what they can get of both cores: every BMC must answer, in bounded memory. */
export const vitalsMany: Benchmark = {
  name: 'vitals-many',
  async *rows() {
    await bindTo(undefined);
    const lab = await startLightBmcs({ count, prefix: '127.78' });
    const busy = Array.from({ length: busyProcesses }, () => spawn('sh', ['-c', 'while :; do :; done']));
    try {
      const muster = await startMuster({ allCores: true, env: slowSimulators });
      const client = await muster.connect();
      await putNodes(client, 'bmc', 'ipmi', lab.addresses);
      const name = count.toLocaleString('en-US');
      for (const { what, label } of readings) {
        const { wall, processor } = await askAll([muster], client, `bmc/${what}`, count, label);
        const [took, each] = [`${figure(wall / 1_000)} s`, `${figure(processor)} us CPU each`];
        const row = `${what} of ${name} BMCs beside ${busyProcesses} busy processes`;
        yield { what: row, muster: took, floor: each, ratio: undefined, bar: undefined };
      }
      const { highest } = memory(muster.pid);
      client.close();
      await muster.stop();
      yield compare('  highest memory', highest, allowed, 'MiB', atMost(1), 'allowed');
    } finally {
      for (const process of busy) process.kill('SIGKILL');
      await lab.stop();
      await bindTo(clientCore);
    }
  },
};
