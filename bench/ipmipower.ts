import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { labAccounts } from '../test/lab/addresses.ts';
import { run, serverCore } from './process.ts';
import { newDirectory } from './server.ts';
import type { Cost } from './service-processors.ts';

export const fanOuts = [64, 256, 1_000] as const;

/** What it costs ipmipower to tell the power state of all these, on the core that muster has else. */
export async function ipmipower(addresses: readonly string[], fanOut: number): Promise<Cost> {
  const { username, password } = labAccounts.administrator;
  const config = join(newDirectory(), 'freeipmi.conf');
  writeFileSync(config, `username ${username}\npassword ${password}\ncipher-suite-id 17\ndriver-type LAN_2_0\n`, {
    mode: 0o600,
  });
  const words = ['ipmipower', '--config-file', config, '-h', addresses.join(','), `--fanout=${fanOut}`, '--stat'];
  const script = `PATH=$PATH:/usr/sbin; TIMEFORMAT='time %3R %3U %3S'; time "$@"`;
  const output = await run(['bash', '-c', script, 'bash', ...words], { core: serverCore });
  const known = output.match(/: (on|off)$/gm)?.length ?? 0;
  if (known !== addresses.length) throw new Error(`ipmipower knows ${known} of ${addresses.length}.\n${output}`);
  const [wall, user, system] = /^time ([\d.]+) ([\d.]+) ([\d.]+)$/m.exec(output)!.slice(1).map(Number);
  return { wall: wall! * 1e3, processor: ((user! + system!) * 1e6) / addresses.length };
}
