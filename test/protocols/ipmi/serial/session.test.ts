import { describe, expect, test } from 'vitest';
import { payloadCodes } from '../../../../src/protocols/ipmi/commands/payload.ts';
import { SerialWorld, watched } from './serial-world.ts';

describe('a console that somebody else has', () => {
  /** Another console of the same BMC. */
  async function taken(): Promise<SerialWorld> {
    const world = new SerialWorld();
    await world.opened();
    world.past = { lost: undefined };
    return world;
  }

  test('is a conflict that says who has it', async () => {
    const world = await taken();
    world.open();
    await world.run(2_000);
    expect(world.failure).toMatchObject({ kind: 'conflict' });
    expect(world.failure?.message).toBe('its console over IPMI SOL is in use by the user number 2 from 192.0.2.77.');
    expect(world.ended).toBe(1);
  });

  test('is a conflict too where the BMC does not say who', async () => {
    const world = await taken();
    world.serial.faults.isSilentAboutOwner = true;
    world.open();
    await world.run(2_000);
    expect(world.failure?.message).toBe('its console over IPMI SOL is in use by somebody else.');
  });

  test('is taken over on request', async () => {
    const world = await taken();
    const console = await world.opened(true);
    void console.write(Buffer.from('mine'));
    await world.run(1_000);
    expect(world.serial.typed).toBe('mine');
  });

  test('is ours again at once if it was ours and the network was away', async () => {
    const world = new SerialWorld();
    await world.opened();
    const [out, back] = [world.out, world.back];
    world.out = world.back = () => [];
    await world.run(60_000);
    expect(world.closed).toHaveLength(1);
    Object.assign(world, { out, back });
    const console = await world.opened();
    void console.write(Buffer.from('back'));
    await world.run(1_000);
    expect(world.serial.typed).toBe('back');
  });
});

test('who loses it to somebody else hears of it, though the BMC says nothing', async () => {
  const world = new SerialWorld();
  await world.opened();
  world.serial.end();
  await world.run(30_000);
  expect(world.closed.map(String)).toEqual([
    expect.stringContaining('its console over IPMI SOL has ended: somebody else has taken it over'),
  ]);
  expect(world.ended).toBe(1);
});

test('a BMC that says that the console has ended is believed at once', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  world.serial.end(true);
  await world.run(50);
  expect(world.closed.map(String)).toEqual([expect.stringContaining('its BMC has ended it')]);
  await expect(console.write(Buffer.from('x'))).rejects.toThrow('its console over IPMI SOL has ended');
});

test('a BMC that is there keeps the console open through an hour without a character', async () => {
  const world = new SerialWorld();
  await world.opened();
  const before = world.sent.length;
  await world.run(3_600_000);
  expect(world.closed).toEqual([]);
  expect(world.sent.length - before).toBeGreaterThan(60);
  expect(world.sent.length - before).toBeLessThan(400);
});

test('a BMC that has restarted, and knows no session any more, ends it', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  world.bmc.sessions.clear();
  world.serial.end();
  const typed = watched(console.write(Buffer.from('anybody there?')));
  await world.run(30_000);
  expect(world.closed.map(String)).toEqual([expect.stringContaining('stopped answering')]);
  expect(typed.fault?.message).toContain('stopped answering');
  expect(world.claimed.size).toBe(0);
  await world.opened();
});

test('a network that is away for a few seconds ends nothing', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  const [out, back] = [world.out, world.back];
  world.out = world.back = () => [];
  void console.write(Buffer.from('typed meanwhile'));
  world.serial.print('printed meanwhile');
  await world.run(8_000);
  Object.assign(world, { out, back });
  await world.run(10_000);
  expect([world.closed, world.serial.typed, world.shown]).toEqual([[], 'typed meanwhile', 'printed meanwhile']);
});

describe('a BMC that refuses the console', () => {
  test.each([
    [payloadCodes.disabled, 'serial over LAN is disabled in its settings: set solenabled=on with rspconfig (code 81h)'],
    [payloadCodes.noEncryption, 'it cannot encrypt it, and muster opens no console without encryption (code 83h)'],
    [payloadCodes.onlyEncrypted, 'it wants it encrypted, and does not recognize that it is (code 84h)'],
    [0xc1, 'it has no serial over LAN (code C1h)'],
    [0xcc, 'a field of the request is invalid (code CCh)'],
    [0xd4, 'the account may not use it; give it the privilege administrator, or payload access (code D4h)'],
    [0xd5, 'the command is not possible in the present state (code D5h)'],
    [0xff, 'of an unspecified error (code FFh)'],
  ])('with code %i', async (code, reason) => {
    const world = new SerialWorld();
    world.serial.faults.code = code;
    world.open();
    await world.run(5_000);
    expect(world.failure?.message).toBe(`its BMC refused the serial console: ${reason}.`);
    expect([world.closed, world.ended, world.bmc.sessions.size]).toEqual([[], 1, 0]);
  });

  test.each([payloadCodes.active, payloadCodes.limit])('with code %i, it is in use', async (code) => {
    const world = new SerialWorld();
    world.serial.faults.code = code;
    world.open(true);
    await world.run(10_000);
    expect(world.failure).toMatchObject({ kind: 'conflict' });
    expect(world.ended).toBe(1);
  });
});

test('closing ends the console and the session at the BMC', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  void console.close();
  await world.run(1_000);
  expect([world.serial.owner, world.bmc.sessions.size, world.claimed.size]).toEqual([undefined, 0, 0]);
  expect(world.closed).toEqual([undefined]);
  await world.run(100_000);
  expect(world.closed).toEqual([undefined]);
});

test('closing does not wait long for a BMC that has gone', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  world.out = world.back = () => [];
  const closing = watched(console.close());
  await world.run(6_000);
  expect(closing).toEqual({ done: true });
  expect([world.closed, world.claimed.size]).toEqual([[undefined], 0]);
});

test('an opening that is given up leaves no session behind', async () => {
  for (const after of [0, 1, 3, 5, 7, 9, 11]) {
    const world = new SerialWorld();
    const given = new AbortController();
    world.open(false, given.signal);
    await world.run(after);
    given.abort();
    await world.run(20_000);
    expect([after, world.failure?.kind, world.claimed.size]).toEqual([after, 'deadline', 0]);
    expect([after, [...world.bmc.sessions.values()].filter(({ isOpen }) => isOpen)]).toEqual([after, []]);
  }
});

test('a BMC that is silent fails the opening', async () => {
  const world = new SerialWorld();
  world.out = () => [];
  world.open();
  await world.run(20_000);
  expect(world.failure?.message).toContain('did not answer within');
  expect([world.closed, world.ended, world.claimed.size]).toEqual([[], 1, 0]);
});

test('packets that were altered, repeated or made up do nothing', async () => {
  const world = new SerialWorld();
  await world.opened();
  const packets: Buffer[] = [];
  world.back = (packet) => {
    packets.push(packet);
    return [1];
  };
  world.serial.print('once');
  await world.run(1_000);
  const [genuine] = packets;
  for (let at = 0; at < genuine!.length; at++) {
    const altered = Buffer.from(genuine!);
    altered[at]! ^= 0x40;
    world.deliver(altered);
  }
  for (let length = 0; length <= genuine!.length; length++) world.deliver(genuine!.subarray(0, length));
  world.deliver(genuine!);
  await world.run(1_000);
  expect([world.shown, world.closed]).toEqual(['once', []]);
});
