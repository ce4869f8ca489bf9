import { expect, test } from 'vitest';
import { push, ReceiverGuard } from '../../../src/events/hooks/push.ts';

const sending = (url: string, guard: ReceiverGuard): Promise<void> =>
  // What is refused is refused before the promise is there, or by it.
  (async () => push({ url, secret: undefined, body: '{}', guard, ca: undefined, milliseconds: 5_000 }))();

test.for([
  'http://127.0.0.1:9/',
  'http://127.1:9/',
  'http://0x7f000001:9/',
  'http://2130706433:9/',
  'http://0:9/',
  'http://[::1]:9/',
  'http://[::]:9/',
  'http://[::ffff:127.0.0.1]:9/',
  'http://[::127.0.0.1]:9/',
  'http://[fe80::1]:9/',
  'http://169.254.169.254/',
  'http://localhost:9/',
])('nothing is pushed to %s, however it is written', async (url) => {
  await expect(sending(url, new ReceiverGuard(undefined))).rejects.toThrow(/on this machine or its link/);
});

test('the address that was judged is the one that is connected to', async () => {
  const guard = new ReceiverGuard(['127.0.0.0/8', '::1/128']);
  const found = await new Promise((resolve, reject) =>
    guard.lookup('localhost', { all: true }, (error, addresses) => (error ? reject(error) : resolve(addresses))),
  );
  expect(found).toContainEqual({ address: '127.0.0.1', family: 4 });
  const elsewhere = new ReceiverGuard(['192.0.2.0/24']);
  await expect(sending('http://localhost:9/', elsewhere)).rejects.toThrow('outside the networks of receivers');
});
