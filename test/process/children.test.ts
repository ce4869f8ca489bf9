import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rootPassword, startServer, temporaryDirectory, type TestServer } from '../harness/server.ts';

const programs = temporaryDirectory();
const seen = join(programs, 'seen');
let server: TestServer;
beforeAll(async () => {
  // Stands for whatever muster starts.
  writeFileSync(join(programs, 'fping'), `#!/bin/sh\nenv > ${seen}\ncat > /dev/null\n`);
  chmodSync(join(programs, 'fping'), 0o755);
  server = await startServer({ environment: { PATH: `${programs}:${process.env['PATH']}` } });
});
afterAll(async () => {
  await server.stop();
  rmSync(programs, { recursive: true, force: true });
});

it('starts programs without the settings in its environment, which may be passwords', async () => {
  await server.ok('POST', '/nodes/n1', { groups: 'all', ip: '127.0.0.1' });
  await server.ok('GET', '/nodes/n1/nodestat');
  const environment = readFileSync(seen, 'utf8');
  expect(environment).toContain('PATH=');
  expect(environment).not.toMatch(new RegExp(`MUSTER_|${rootPassword}`));
});

it('does not show the settings in what the kernel tells of its environment', () => {
  const environment = readFileSync(`/proc/${server.child.pid}/environ`, 'latin1');
  expect(environment).toContain('MUSTER_ROOT_PASSWORD=x');
  expect(environment).not.toContain(rootPassword);
});
