import { assert, json, oneof, property, string } from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import { KeaAway, KeaControl, KeaRefusal, readAnswer } from '../../../src/protocols/kea/control.ts';
import { type Answerer, type KeaSocket, listenAsKea } from '../../lab/kea-socket.ts';

let socket: KeaSocket | undefined;
afterEach(async () => {
  await socket?.close();
  socket = undefined;
});

async function controlOf(answer: Answerer): Promise<KeaControl> {
  socket = await listenAsKea(answer);
  return new KeaControl(socket.path);
}

describe('a command to Kea', () => {
  it('is sent as JSON, and the arguments of the answer come back', async () => {
    const control = await controlOf(() => ({ result: 0, text: 'fine', arguments: { pid: 7 } }));
    expect(await control.tell('status-get')).toEqual({ pid: 7 });
    await control.tell('config-set', { Dhcp4: {} });
    await control.tell('config-set', '{"Dhcp4":{"x":1}}');
    expect(socket!.heard).toEqual([
      { command: 'status-get' },
      { command: 'config-set', arguments: { Dhcp4: {} } },
      { command: 'config-set', arguments: { Dhcp4: { x: 1 } } },
    ]);
  });

  it('may be as large as the configuration of many nodes', async () => {
    const control = await controlOf(({ arguments: given }) => ({ result: 0, arguments: given.text.length }));
    expect(await control.tell('config-set', { text: 'x'.repeat(4_000_000) })).toBe(4_000_000);
  });

  it('that is refused says why', async () => {
    const control = await controlOf(() => ({ result: 1, text: 'no such\nsubnet' }));
    await expect(control.tell('config-set', {})).rejects.toThrow(new KeaRefusal('config-set', 'no such subnet'));
    expect(await control.ask('config-set', {})).toMatchObject({ result: 1 });
  });

  it('fails when nobody listens', async () => {
    await expect(new KeaControl('/nonexistent/kea.sock').ask('status-get')).rejects.toThrow(KeaAway);
  });

  it('fails when the connection is closed without an answer', async () => {
    const control = await controlOf((_command, connection) => void connection.destroy());
    await expect(control.ask('status-get')).rejects.toThrow(KeaAway);
  });

  it('fails when no answer comes in time', async () => {
    const control = await controlOf(() => undefined);
    await expect(control.ask('status-get', undefined, 50)).rejects.toThrow('no answer within 50 ms');
  });

  it('is not tried on a path that no socket can have', async () => {
    await expect(new KeaControl(`/tmp/${'x'.repeat(120)}`).ask('status-get')).rejects.toThrow('Set dhcp.directory');
  });
});

describe('an answer', () => {
  it.each([
    ['{"result":0}', { result: 0, text: '' }],
    ['[{"result":3,"text":"none"}]', { result: 3, text: 'none' }],
  ])('%s', (text, expected) => expect(readAnswer('x', text)).toMatchObject(expected));

  it.each(['', '{', '[]', '[{"result":0},{"result":0}]', '{"text":"x"}', '{"result":"0"}', 'null', '7'])(
    '%s is none',
    (text) => expect(() => readAnswer('x', text)).toThrow('cannot be understood'),
  );

  it('never ends in anything but an answer or a fault, whatever it holds', () => {
    assert(
      property(
        oneof(
          string(),
          json(),
          json().map((value) => `{"result":${value}}`),
        ),
        (text) => {
          try {
            const { result, text: said } = readAnswer('x', text);
            expect(Number.isSafeInteger(result)).toBe(true);
            expect(said).toMatch(/^[\x20-\x7e]*$/);
          } catch (error) {
            expect(error).toBeInstanceOf(Fault);
          }
        },
      ),
    );
  });
});
