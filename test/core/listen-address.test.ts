import { expect, it } from 'vitest';
import { formatListen, parseListen } from '../../src/core/host-address.ts';

it.each([
  ['127.0.0.1:8443', '127.0.0.1', 8443],
  ['localhost:0', 'localhost', 0],
  ['mn-1.cluster.example:443', 'mn-1.cluster.example', 443],
  ['[::]:443', '::', 443],
  ['[fe80::1]:65535', 'fe80::1', 65535],
])('reads %s and writes it back', (text, host, port) => {
  expect(parseListen(text)).toEqual({ host, port });
  expect(formatListen({ host, port })).toBe(text);
});

it.each([
  '',
  '8443',
  ':8443',
  'host',
  'host:',
  'host:x',
  'host:65536',
  '::1:443',
  '[::1]',
  '[h]:1',
  '1.2.3:4',
  '300.0.0.1:1',
  'a b:1',
  '-a:1',
])('refuses %j', (text) => {
  expect(parseListen(text)).toBeUndefined();
});
