import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { runHere } from '../cli/replay/run.ts';
import { makeKit } from '../harness/kit.ts';
import { startServer, temporaryDirectory } from '../harness/server.ts';
import { makeRpmRepository } from '../lab/rpm-packages.ts';
import { makeRpmDistribution } from './rpm-distribution.ts';

it('installs the components of kits into an image, and runs their scripts there', { timeout: 300_000 }, async () => {
  const [install, server] = [temporaryDirectory(), await startServer()];
  onTestFinished(async () => {
    await server.stop();
    rmSync(install, { recursive: true, force: true });
  });
  const env = { HOME: server.data, MUSTER_SOCKET: join(server.data, 'muster.sock') };
  const run = async (...argv: string[]) => {
    const ended = await runHere({ argv, stdin: '', env });
    expect([argv, ended.code, ended.stderr]).toEqual([argv, 0, '']);
  };
  await server.ok('PUT', '/globalconf/attrs/installdir', { installdir: install });
  const { repository } = makeRpmDistribution(install);
  const packages = ['tools-license', 'tools-compute'].map((name) => ({ name, version: '1.0' }));
  const repo = [...makeRpmRepository(packages)].map(([path, bytes]) => [
    `repos/tools-1.0-1-rocky-9-x86_64/${path}`,
    bytes,
  ]);
  await run('addkit', makeKit(install, { os: 'rocky9', files: Object.fromEntries(repo) }));
  await server.ok('POST', '/osimages/product', {
    imagetype: 'linux',
    osname: 'Linux',
    osvers: 'rocky9',
    osarch: 'x86_64',
    profile: 'product',
    provmethod: 'netboot',
    pkgdir: repository,
    pkglist: join(install, 'product.pkglist'),
    postinstall: join(install, 'own/shell'),
  });
  // The distribution of the lab has no shell; the image's own script, which runs first, brings one.
  mkdirSync(join(install, 'own'));
  copyFileSync('/bin/busybox', join(install, 'own/busybox'));
  const shell = '#!/run/muster/0/busybox sh\nB=/run/muster/0/busybox\n$B mkdir -p /bin\n$B cp $B /bin/sh\n';
  writeFileSync(join(install, 'own/shell'), shell, { mode: 0o755 });
  writeFileSync(join(install, 'product.pkglist'), 'lab-tool\nlab-kernel\n');
  await run('addkitcomp', '-a', '-i', 'product', 'tools-compute');
  await run('genimage', 'product');
  const tree = (path: string): string => join(install, 'netboot/rocky9/x86_64/product/rootimg', path);
  expect(readFileSync(tree('opt/lab/tools-compute'), 'utf8')).toBe('1.0');
  expect(readFileSync(tree('etc/kit'), 'utf8')).toBe('accept it in /\n');
});
