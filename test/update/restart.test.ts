import { rmSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { startServer, temporaryDirectory } from '../harness/server.ts';

it('nodes whose update ended with the service have failed when it is back', async () => {
  const data = temporaryDirectory();
  try {
    const first = await startServer({ data });
    await first.ok('POST', '/nodes/n1', { groups: 'all', updatestatus: 'syncing' });
    await first.stop();
    const second = await startServer({ data });
    try {
      await vi.waitFor(
        async () => expect((await second.ok('GET', '/nodes/n1')).n1).toMatchObject({ updatestatus: 'failed' }),
        10_000,
      );
    } finally {
      await second.stop();
    }
  } finally {
    rmSync(data, { recursive: true });
  }
});
