import { existsSync } from 'node:fs';
import { afterAll, expect, it } from 'vitest';
import { connectNamespaces, makeNamespace } from './netns.ts';

const left = makeNamespace();
const right = makeNamespace();
afterAll(() => {
  left.remove();
  right.remove();
});

it('connects two namespaces by a cable, and nothing else', () => {
  const a = { namespace: left, interface: 'eth0', addresses: ['10.78.0.1/24', 'fd78::1/64'], mac: '02:00:00:78:00:01' };
  connectNamespaces(a, { namespace: right, interface: 'eth0', addresses: ['10.78.0.2/24', 'fd78::2/64'] });
  const probe = `require('net').connect(9, '10.78.0.1').on('error', (e) => console.log(e.code))`;
  expect(right.run(process.execPath, '-e', probe).trim()).toBe('ECONNREFUSED');
  expect(right.run('ip', 'neigh', 'show', '10.78.0.1')).toContain('02:00:00:78:00:01');
  expect(left.run('ip', 'route')).not.toContain('default');
});

it('is gone when it is removed', () => {
  const namespace = makeNamespace();
  expect(existsSync(`/run/netns/${namespace.name}`)).toBe(true);
  namespace.remove();
  expect(existsSync(`/run/netns/${namespace.name}`)).toBe(false);
});
