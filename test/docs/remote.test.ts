import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'vitest';
import { makeRepository } from '../lab/packages.ts';
import { machine, startMachines } from './fixtures/machines.ts';
import { runPage } from './run-page.ts';

const machines = [1, 2].map(machine);
const packages = ['htop', 'numactl'].map((name) => ({ name, version: '9.0' }));

it('docs/remote.md shows commands that work', () =>
  runPage('docs/remote.md', {
    settings: { MUSTER_REMOTE_CONNECT_SECONDS: '30' },
    async prepare(world) {
      const repository = join(world.directory, 'repository');
      mkdirSync(repository);
      for (const [name, bytes] of makeRepository(packages)) writeFileSync(join(repository, name), bytes);
      await startMachines(world, machines, repository);
    },
    async ready({ server }) {
      const nodes = machines.map(({ name, address }) => [name, { groups: 'all,compute', ip: address, arch: 'x86_64' }]);
      await server.ok('PUT', '/nodes', Object.fromEntries(nodes));
    },
  }));
