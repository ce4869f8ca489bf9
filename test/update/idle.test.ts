import { expect, it } from 'vitest';
import { startServer } from '../harness/server.ts';

it('thousands of nodes that get nothing do not keep others waiting', async () => {
  const server = await startServer();
  try {
    await server.ok('POST', '/osimages/img', { osvers: 'debian12', provmethod: 'install', profile: 'compute' });
    await server.ok('PUT', '/nodes/x1-x5000', { groups: 'many', provmethod: 'img' });
    let over = false;
    const syncing = server.ok('POST', '/nodes/many/filesyncing').finally(() => (over = true));
    // So that it is certainly under way.
    await new Promise((resolve) => setTimeout(resolve, 50));
    await server.ok('GET', '/nodes/x1');
    expect(over).toBe(false);
    expect(await syncing).toEqual(['There were no syncfiles defined to process. File synchronization has completed.']);
  } finally {
    await server.stop();
  }
});
