import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryDirectory, type TestServer } from '../harness/server.ts';
import type { LabChild } from '../lab/child.ts';
import { serveNfs } from '../lab/netboot/nfs.ts';
import { type BootWorld, machineName, startBootWorld } from '../lab/netboot/world.ts';
import { BootDesk, bootTimeout, canBoot, isPc, quickHardware } from './end-to-end.ts';

const node = machineName(0);
/** What of the image is kept, shared and thrown away. */
const rows: Readonly<Record<string, Record<string, string>>> = {
  'litefile/image=lite,file=/var/kept/': { options: 'persistent' },
  'litefile/image=ALL,file=/var/thrown/': { options: 'tmpfs' },
  'litefile/image=lite,file=/etc/shared': { options: 'ro' },
  'litefile/image=lite,file=/etc/linked': { options: 'link,ro' },
  [`statelite/node=${node}`]: { statemnt: '/dev/vda' },
  'litetree/priority=1': { directory: '10.77.0.1:/tree' },
};
const defineStatelite = async (server: TestServer): Promise<void> => {
  for (const [place, row] of Object.entries(rows)) {
    const [table, ...key] = place.split('/');
    await server.ok('PUT', `/tables/${table}/rows/${encodeURIComponent(key.join('/'))}`, row);
  }
};

describe.skipIf(!canBoot)(
  'a blank machine runs an image in memory by REST calls alone',
  { timeout: bootTimeout },
  () => {
    let world: BootWorld;
    let desk: BootDesk;
    let files: LabChild | undefined;
    const served = temporaryDirectory();
    beforeAll(async () => {
      world = await startBootWorld({
        machines: [{ ...quickHardware, firmware: isPc ? 'bios' : 'uefi', memory: 1024, disk: 1 }],
        images: ['lite'],
      });
      desk = new BootDesk(world);
      mkdirSync(join(served, 'tree/etc'), { recursive: true });
      for (const name of ['shared', 'linked']) writeFileSync(join(served, 'tree/etc', name), 'of the server\n');
      files = await serveNfs(world.network.namespace, served);
      await defineStatelite(world.server());
    }, bootTimeout);
    afterAll(async () => {
      await files?.stop();
      await world?.stop();
      rmSync(served, { recursive: true, force: true });
    });

    it('and a muster that is killed meanwhile does no harm', async () => {
      await desk.start(node, { osimage: 'lite' });
      await desk.reaches(node, 'fetching');
      await world.killAndRestart();
      await desk.reaches(node, 'booted');
      await expect.poll(() => desk.status(node)).toBe('booted');
      const journal = 'systemctl is-active systemd-journald';
      expect(await desk.shell(node, `hostname; findmnt -no FSTYPE /; ${journal}`)).toBe(`${node}\noverlay\nactive`);
    });

    it('with files that it keeps on its disk, has from a server, or loses when it boots again', async () => {
      const look =
        'cat /etc/shared /var/kept/a; cat /var/thrown/a 2> /dev/null || echo lost; findmnt -no FSTYPE,OPTIONS /etc/shared';
      const shown = await desk.shell(node, `echo kept > /var/kept/a; echo there > /var/thrown/a; sync; ${look}`);
      expect(shown).toMatch(/^of the server\nkept\nthere\nnfs4 +ro,/);
      const written = await desk.shell(node, 'echo more >> /etc/linked || readlink /etc/linked; cat /etc/linked');
      expect(written).toMatch(/^\/\.statelite\/tree\/0\/etc\/linked\nof the server$/m);
      // It restarts by itself: muster knows of that by what DHCP gives its firmware, and the node gets a new token.
      await desk.shell(node, 'nohup sh -c "sleep 3; reboot -f" > /dev/null 2>&1 &');
      await desk.beginsAnew(node);
      await desk.reaches(node, 'booted');
      // A root in memory makes new host keys with each boot, and the node tells them.
      expect(await desk.shell(node, look)).toMatch(/^of the server\nkept\nlost\nnfs4 +ro,/);
      await desk.off(node);
    });
  },
);
