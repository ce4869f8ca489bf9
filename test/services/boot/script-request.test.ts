import { expect, it } from 'vitest';
import { scriptRequest } from '../../../src/services/boot/server/script-request.ts';

const path = '/boot/52-54-00-00-00-01.ipxe';
const get = (minor: number, ...headers: string[]): string =>
  [`GET ${path} HTTP/1.${minor}`, ...headers, '', ''].join('\r\n');

it.each([
  ['as iPXE asks', get(1, 'Connection: keep-alive', 'User-Agent: iPXE/1.0.0+', 'Host: 10.0.0.1'), true],
  ['as GRUB asks', get(1, 'Host: 10.0.0.1', 'User-Agent: GRUB 2.06'), true],
  ['as busybox asks', get(1, 'Host: 10.0.0.1:8080', 'User-Agent: Wget', 'Connection: close'), false],
  ['by HTTP/1.0', get(0), false],
])('%s', (_name, text, keep) => {
  expect(scriptRequest(Buffer.from(text))).toEqual({ path, keep });
});

it.each([
  ['a part of one', get(1, 'Host: x').slice(0, -1)],
  ['more than one', get(1, 'Host: x') + get(1, 'Host: x')],
  ['one with a body', get(1, 'Host: x', 'Content-Length: 4')],
  ['one in chunks', get(1, 'Host: x', 'Transfer-Encoding: chunked')],
  ['one without a host', get(1)],
  ['one with two', get(1, 'Host: x', 'Host: y')],
  ['one that speaks of its connection twice', get(1, 'Host: x', 'Connection: close', 'Connection: close')],
  ['one that wants another protocol', get(1, 'Host: x', 'Connection: upgrade', 'Upgrade: h2c')],
  ['one for a part', get(1, 'Host: x', 'Range: bytes=0-1')],
  ['one with a line that goes on', get(1, 'Host: x', ' y')],
  ['one with a bare line feed', get(1, 'Host: x\nRange: bytes=0-1')],
  ['one with a blank before the colon', get(1, 'Host : x')],
  ['HEAD', get(1, 'Host: x').replace('GET', 'HEAD')],
  ['a path with signs', get(1, 'Host: x').replace('boot/', 'boot/%2e')],
  ['a path that goes up', get(1, 'Host: x').replace('boot/', 'boot/../boot/')],
  ['a query', get(1, 'Host: x').replace('.ipxe', '.ipxe?a')],
  ['another file', get(1, 'Host: x').replace('.ipxe', '.efi')],
  ['a long one', get(1, 'Host: x', `User-Agent: ${'x'.repeat(3_000)}`)],
  ['nothing', ''],
])('%s is left to a whole parser', (_name, text) => {
  expect(scriptRequest(Buffer.from(text))).toBeUndefined();
});
