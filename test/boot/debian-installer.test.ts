import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { makeNamespace } from '../lab/netns.ts';

/** Software emulation of a machine on one that does other things too. */
const patience = 2_400_000;
const address = '10.78.0.1';
const tree = 'http file boot/install/debian12/x86_64/install/netboot/debian-installer/amd64';

it('the installer of Debian fetches its answers, reports, and goes to the mirror that they name', {
  timeout: patience,
}, async () => {
  const namespace = makeNamespace();
  try {
    namespace.run('ip', 'address', 'add', `${address}/32`, 'dev', 'lo');
    const driver = join(import.meta.dirname, 'installer-driver.ts');
    const [program, ...args] = namespace.command(process.execPath, driver, address, String(patience - 60_000));
    const { stdout } = await promisify(execFile)(program, args);
    const { steps, status, ...told } = JSON.parse(stdout.trim().split('\n').at(-1)!);
    expect(told).toEqual({});
    expect(steps).toEqual([
      'http script boot/52-54-00-00-00-01.ipxe',
      `${tree}/linux`,
      `${tree}/initrd.gz`,
      'http answer boot/answer/n1/preseed.cfg',
      'report installing',
      'http file boot/install/debian12/x86_64/dists/bookworm/Release',
    ]);
    expect(status).toBe('installing');
  } finally {
    namespace.remove();
  }
});
