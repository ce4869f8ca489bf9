import { describe, expect, test } from 'vitest';
import { Random } from '../../../process/random.ts';
import { SerialWorld, watched } from './serial-world.ts';

const text = (length: number): string => Array.from({ length }, (_, at) => `${at.toString(36)};`).join('');

test('what is typed arrives, and what is printed is shown', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  const typed = watched(console.write(Buffer.from('root\r')));
  world.serial.print('login: ');
  await world.run(500);
  expect(typed).toEqual({ done: true });
  expect(world.serial.typed).toBe('root\r');
  expect(world.shown).toBe('login: ');
});

test('every byte value goes both ways unchanged', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  void console.write(all);
  world.serial.print(all.toString('latin1'));
  await world.run(2_000);
  expect(world.serial.typed).toBe(all.toString('latin1'));
  expect(world.shown).toBe(all.toString('latin1'));
});

test('output that comes before the BMC says that the console is open is shown', async () => {
  const world = new SerialWorld();
  const answer = world.answer;
  world.answer = (packet) => {
    const reply = answer(packet);
    if (world.serial.owner && world.shown === '') world.serial.print('early');
    return reply;
  };
  await world.opened();
  expect(world.shown).toMatch(/^early/);
});

test('the first character typed is not taken for a repeated packet of an earlier console', async () => {
  const world = new SerialWorld();
  for (const word of ['a', 'b', 'c', 'd']) {
    const console = await world.opened();
    void console.write(Buffer.from(word));
    await world.run(2_000);
    void console.close();
    await world.run(2_000);
  }
  expect(world.serial.typed).toBe('abcd');
});

test('a BMC that acknowledges no packet without characters is typed at all the same', async () => {
  const world = new SerialWorld();
  world.serial.faults.ignoresEmpty = true;
  const console = await world.opened();
  void console.write(Buffer.from('x'));
  await world.run(3_000);
  expect(world.serial.typed).toBe('x');
});

test('a break reaches the line in its place', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  void console.write(Buffer.from('before'));
  const sent = watched(console.sendBreak());
  void console.write(Buffer.from('after'));
  await world.run(1_000);
  expect(world.serial.typed).toBe('before<break>after');
  expect(sent).toEqual({ done: true });
});

describe('packets that get lost, come twice, late, or in another order', () => {
  test.each([
    ['a tenth is lost', { lost: 10, twice: 0, late: 0 }],
    ['a third is lost', { lost: 33, twice: 0, late: 0 }],
    ['half come twice', { lost: 0, twice: 50, late: 0 }],
    ['a third is late', { lost: 0, twice: 0, late: 33 }],
    ['all of it', { lost: 20, twice: 20, late: 20 }],
  ])('%s: no character is lost or doubled in either direction', async (_name, how) => {
    for (const grows of [false, true]) {
      const world = new SerialWorld();
      const random = new Random(7);
      world.serial.faults.growsRepeats = grows;
      const console = await world.opened();
      const way = (): number[] => {
        if (random.chance(how.lost)) return [];
        const delay = random.chance(how.late) ? 100 + random.number(2_000) : 1 + random.number(20);
        return random.chance(how.twice) ? [delay, delay + random.number(900)] : [delay];
      };
      world.out = way;
      world.back = way;
      const [typed, printed] = [text(700), text(900)];
      for (let at = 0; at < typed.length; at += 50) void console.write(Buffer.from(typed.slice(at, at + 50)));
      for (let at = 0; at < printed.length; at += 100) {
        world.serial.print(printed.slice(at, at + 100));
        await world.run(700);
      }
      await world.run(240_000);
      expect(world.closed).toEqual([]);
      expect(world.serial.typed).toBe(typed);
      expect(world.shown).toBe(printed);
    }
  });
});

describe('a BMC that takes not all', () => {
  test('gets the rest in the next packets', async () => {
    const world = new SerialWorld();
    world.serial.faults.takes = 3;
    const console = await world.opened();
    const typed = watched(console.write(Buffer.from('hello, world')));
    await world.run(5_000);
    expect(world.serial.typed).toBe('hello, world');
    expect(typed).toEqual({ done: true });
  });

  test('goes on when it says that it can', async () => {
    const world = new SerialWorld();
    const console = await world.opened();
    world.serial.faults.isHeld = true;
    const typed = watched(console.write(Buffer.from('held')));
    await world.run(3_000);
    expect([world.serial.typed, typed]).toEqual(['', {}]);
    world.serial.release();
    await world.run(50);
    expect([world.serial.typed, typed]).toEqual(['held', { done: true }]);
  });

  test('for a long time: what was typed is lost, and said to be; the console stays open', async () => {
    const world = new SerialWorld();
    const console = await world.opened();
    world.serial.faults.isHeld = true;
    const outcomes = ['lost', 'too'].map((word) => watched(console.write(Buffer.from(word))));
    await world.run(15_000);
    for (const { fault } of outcomes) expect(fault?.message).toMatch(/takes no characters for the console now/);
    world.serial.release();
    void console.write(Buffer.from('again'));
    await world.run(1_000);
    expect(world.serial.typed).toBe('again');
    expect(world.closed).toEqual([]);
  });
});

test('what is typed faster than the line takes it is refused before it fills the memory', async () => {
  const world = new SerialWorld();
  const console = await world.opened();
  world.out = () => [];
  void console.write(Buffer.alloc(64 << 10, 'x')).catch(() => undefined);
  const more = watched(console.write(Buffer.from('y')));
  await world.run(1);
  expect(more.fault?.message).toMatch(/more than 64 KiB wait/);
});

test('a BMC that floods the console gets a bounded part of it in', async () => {
  const world = new SerialWorld();
  await world.opened();
  world.back = (packet) => {
    world.deliver(packet);
    return [];
  };
  for (let second = 0; second < 3; second++) {
    world.serial.flood(4_000);
    await world.run(1_000);
  }
  expect(world.shown.length).toBeLessThan(2_000_000);
  expect(world.shown.length).toBeGreaterThan(100_000);
});
