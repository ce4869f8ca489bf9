import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, expect, it } from 'vitest';
import { exitOf, startServer, temporaryDirectory } from '../harness/server.ts';
import { removeDirectory } from './process.ts';

const data = temporaryDirectory();
afterAll(() => removeDirectory(data));

it('a server that is killed while it writes leaves a whole hosts file, and the next one completes it', async () => {
  const file = join(data, 'hosts');
  const foreign = '# kept\n10.9.9.9 other\n';
  const count = 2_000;
  const whole = new RegExp(
    `^${foreign.replaceAll('.', '\\.')}(10\\.3\\d\\.\\d+\\.\\d+ k\\d+ k\\d+\\.c\\.com \\n){${count}}$`,
  );
  writeFileSync(file, foreign);
  for (let round = 0; round < 5; round++) {
    const server = await startServer({ data });
    const ip = `|\\D+(\\d+)$|10.3${round}.($1/250).($1%250+1)|`;
    if (round === 0) {
      await server.ok('PUT', '/globalconf/attrs/domain', { domain: 'c.com' });
      await server.ok('POST', `/nodes/k1-k${count}`, { groups: 'k', ip });
      await server.ok('POST', '/services/host');
    }
    expect(readFileSync(file, 'utf8')).toMatch(whole);
    await server.ok('PUT', '/nodes/k', { ip });
    const asked = server.call('POST', '/services/host').catch(() => undefined);
    await setTimeout(Math.random() * 200);
    server.child.kill('SIGKILL');
    await exitOf(server.child);
    await asked;
    server.client.close();
    expect(readFileSync(file, 'utf8')).toMatch(whole);
  }
  const last = await startServer({ data });
  await last.ok('POST', '/services/host');
  expect(readFileSync(file, 'utf8')).toMatch(whole);
  expect(readFileSync(file, 'utf8').match(/^10\.34\./gm)).toHaveLength(count);
  await last.stop();
});
