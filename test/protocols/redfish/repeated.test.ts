import { expect, test } from 'vitest';
import { Repeated } from '../../../src/protocols/redfish/repeated.ts';

const reply = (body: unknown, etag?: string) => ({
  status: 200,
  headers: etag === undefined ? {} : { etag },
  bytes: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
});
const path = '/redfish/v1/Systems/1';

test('what is read again and has not changed is not parsed again', () => {
  const repeated = new Repeated();
  const read = () => repeated.read(path, reply({ PowerState: 'On' }, 'W/"1"'));
  const [first, second, third, fourth] = [read(), read(), read(), read()];
  expect(first).toEqual({ path, body: { PowerState: 'On' }, etag: 'W/"1"' });
  expect(second).toEqual(first);
  expect(third).toBe(second);
  expect(fourth).toBe(second);
});

test('what has changed is told as it is now, in its body, its etag and its path', () => {
  const repeated = new Repeated();
  const power = (body: unknown, etag?: string, at = path) => {
    const resource = repeated.read(at, reply(body, etag));
    return [resource.path, resource.body['PowerState'], resource.etag];
  };
  for (let round = 0; round < 3; round++) {
    expect(power({ PowerState: 'On' }, 'a')).toEqual([path, 'On', 'a']);
    expect(power({ PowerState: 'On' }, 'a')).toEqual([path, 'On', 'a']);
    expect(power({ PowerState: 'Off' }, 'a')).toEqual([path, 'Off', 'a']);
    expect(power({ PowerState: 'Off' }, 'b')).toEqual([path, 'Off', 'b']);
    expect(power({ PowerState: 'Off' })).toEqual([path, 'Off', undefined]);
    expect(power({ PowerState: 'Off' }, undefined, '/other')).toEqual(['/other', 'Off', undefined]);
  }
});

test('the buffer that a reply came in may be used again', () => {
  const repeated = new Repeated();
  const first = reply({ PowerState: 'On' });
  repeated.read(path, first);
  repeated.read(path, first);
  first.bytes.fill(0x20);
  expect(repeated.read(path, reply({ PowerState: 'On' })).body).toEqual({ PowerState: 'On' });
});

test('what is no resource is refused each time', () => {
  const repeated = new Repeated();
  for (let round = 0; round < 3; round++) expect(() => repeated.read(path, reply('[1]'))).toThrow('not a JSON object');
});
