import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labAccounts } from '../test/lab/addresses.ts';
import { run, serverCore } from './process.ts';
import { newDirectory } from './server.ts';
import type { Cost } from './service-processors.ts';

/** Readings of one BMC of the lab that have a value. */
const value = /^(\S+): \d+ *\|.*\| *\d[\d.]* *\|/gm;

/** ipmi-sensors with sensor records that it has cached, on the core that muster has else. */
export class IpmiSensors {
  readonly #addresses: readonly string[];
  readonly #config = join(newDirectory(), 'freeipmi.conf');
  readonly #cache = newDirectory();

  constructor(addresses: readonly string[]) {
    this.#addresses = addresses;
    const { username, password } = labAccounts.administrator;
    writeFileSync(
      this.#config,
      `username ${username}\npassword ${password}\ncipher-suite-id 17\ndriver-type LAN_2_0\n`,
      {
        mode: 0o600,
      },
    );
  }

  /** What it costs to read all sensors of all BMCs; the first time it fills its cache. */
  async read(fanOut: number): Promise<Cost> {
    const options = [`--sdr-cache-directory=${this.#cache}`, '--quiet-cache', `--fanout=${fanOut}`];
    const words = ['ipmi-sensors', '--config-file', this.#config, '-h', this.#addresses.join(','), ...options];
    const script = `PATH=$PATH:/usr/sbin; TIMEFORMAT='time %3R %3U %3S'; time "$@"`;
    const output = await run(['bash', '-c', script, 'bash', ...words], { core: serverCore });
    const known = new Set([...output.matchAll(value)].map(([, host]) => host)).size;
    if (known !== this.#addresses.length)
      throw new Error(`ipmi-sensors knows ${known} of ${this.#addresses.length}.\n${output.slice(0, 2_000)}`);
    const [wall, user, system] = /^time ([\d.]+) ([\d.]+) ([\d.]+)$/m.exec(output)!.slice(1).map(Number);
    return { wall: wall! * 1e3, processor: ((user! + system!) * 1e6) / this.#addresses.length };
  }
}
