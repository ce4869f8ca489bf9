import { chmodSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
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

/** Files of the node's own: a template, a secret, a link, and the name that the node calls itself. */
const defineOverlay = async (server: TestServer, installdir: string): Promise<void> => {
  const at = (name: string): string => join(installdir, 'overlays/base/etc', name);
  mkdirSync(at('site'), { recursive: true });
  writeFileSync(at('site/node.tmpl'), 'node=#NODE#\n#EACH:groups#\ngroup=#ITEM:name#\n#END#\n');
  writeFileSync(at('site/key.tmpl'), '#SECRET:ipmi:$NODE:password#\n');
  chmodSync(at('site/key.tmpl'), 0o400);
  symlinkSync('site/node', at('node-link'));
  writeFileSync(at('hostname.tmpl'), '#NODE#.#DOMAIN#\n');
  await server.ok('PUT', '/osimages/lite', { overlay: 'base' });
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
      await defineOverlay(world.server(), world.installdir);
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
      expect(await desk.shell(node, `hostname -s; findmnt -no FSTYPE /; ${journal}`)).toBe(`${node}\noverlay\nactive`);
    });

    it('with files of its own, which were there before its system started', async () => {
      const { [node]: defined } = await world.server().ok('GET', `/nodes/${node}`);
      const look =
        'cat /etc/node-link /etc/hostname; stat -c "%a %U" /etc/site/key; wc -c < /etc/site/key; ls -A / /etc';
      const shown = await desk.shell(node, look);
      const groups = String(defined.groups).split(',');
      expect(shown).toMatch(new RegExp(`^node=${node}\n${groups.map((name) => `group=${name}\n`).join('')}`));
      expect(shown).toContain(`${node}.cluster.test\n400 root\n`);
      expect(shown).not.toContain('muster-overlay');
      const compare = () => world.server().ok('POST', `/nodes/${node}/overlay`, { action: 'diff' });
      expect(await compare()).toEqual({ [node]: [] });
      await desk.shell(node, 'echo changed > /etc/site/node; chmod 644 /etc/site/key');
      expect((await compare())[node]).toEqual(
        expect.arrayContaining([
          '/etc/site/key: mode or owner',
          '/etc/site/node: changed',
          '-changed',
          `+node=${node}`,
        ]),
      );
      await world.server().ok('POST', `/nodes/${node}/overlay`, { action: 'send' });
      expect(await compare()).toEqual({ [node]: [] });
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
