import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { registryCa, startContainerRegistry, writeDebianLayout } from './fixtures/container-registry.ts';
import { makeKit } from '../harness/kit.ts';
import { burnRocky } from './fixtures/rocky-medium.ts';
import { runPage } from './run-page.ts';
import type { BareWorld } from './world.ts';

const registry = 'registry.cluster.example';

/** What the page finds below /install: it is on a disk, as images are. */
function fillInstall({ inside, directory }: BareWorld): void {
  const install = join(directory, 'install');
  mkdirSync(join(install, 'iso'), { recursive: true });
  inside.run('mount', '--bind', install, '/install');
  burnRocky(join(install, 'iso'), directory, true);
  mkdirSync(join(install, 'images'));
  mkdirSync(join(install, 'kits/in'), { recursive: true });
  makeKit(directory);
  execFileSync('mv', [join(directory, 'tools-1.0-1.tar.bz2'), join(install, 'kits/in')]);
  const layout = join(directory, 'db.oci');
  writeDebianLayout(layout);
  execFileSync('tar', ['-cf', join(install, 'images/db.oci.tar'), '-C', layout, '.']);
}

it('docs/images.md shows commands that work', { timeout: 300_000 }, () =>
  runPage('docs/images.md', {
    settings: { MUSTER_IMAGES_REGISTRIES: registry, MUSTER_IMAGES_REGISTRY_CA: registryCa },
    addresses: ['10.1.0.1/16', '10.1.0.5/16'],
    async prepare(world) {
      fillInstall(world);
      await startContainerRegistry(world, registry, '10.1.0.5');
    },
  }),
);
