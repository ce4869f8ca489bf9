import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { makeNamespace } from '../../lab/netns.ts';

const namespace = makeNamespace();
afterAll(() => namespace.remove());

it('clients find the nodes of a network of /26, and its neighbours at the forwarder', () => {
  const output = namespace.run(process.execPath, join(import.meta.dirname, 'neighbours-driver.ts'));
  const found = { below: 'low.corp.test.', node: 'n70.cluster.test.', above: 'high.corp.test.' };
  const six = { node6: 'n9.cluster.test.', beside6: 'six.corp.test.' };
  expect(JSON.parse(output.trim().split('\n').at(-1)!)).toEqual({
    first: { ...found, ...six },
    only: { ...found, ...six },
    without: { ...found, ...six, node: '' },
    again: { ...found, ...six },
  });
});
