import { describe, expect, test } from 'vitest';
import { Pace } from '../../../src/core/pace.ts';
import { faultOf, powerOn, World } from './world.ts';

/** As if so many other BMCs had answered after this time. */
function others(world: World, took: number, count = 200): void {
  for (let answer = 0; answer < count; answer++) world.pace.note(took, world.time);
}

/** Has others answer every second. */
async function runBeside(world: World, seconds: number, took: number): Promise<void> {
  for (let second = 0; second < seconds; second++) {
    others(world, took);
    await world.run(1_000);
  }
}

describe('a BMC that does not answer within its timeout', () => {
  test('is waited for while the others are as slow', async () => {
    const world = new World();
    world.back = () => [4_000];
    world.out = () => [4_000];
    const asked = world.request();
    await runBeside(world, 60, 8_000);
    expect(asked.outcome).toMatchObject({ response: { code: 0 } });
  });

  test('gets a command that changes something once, however slow all are', async () => {
    const world = new World();
    const first = world.request();
    await world.run(1_000);
    expect(first.outcome).toMatchObject({ response: { code: 0 } });
    world.back = () => [9_000];
    const switched = world.request(powerOn);
    await runBeside(world, 60, 9_000);
    expect(switched.outcome).toMatchObject({ response: { code: 0 } });
    expect(world.bmc.controls).toHaveLength(1);
  });

  test('is silent when the others are not slow', async () => {
    const world = new World();
    world.out = () => [];
    const asked = world.request();
    await runBeside(world, 6, 20);
    expect(faultOf(asked).message).toMatch(/did not answer within 5 s/);
  });

  test('is silent after twice the timeout, however slow the others are', async () => {
    const world = new World();
    world.out = () => [];
    const asked = world.request();
    await runBeside(world, 11, 60_000);
    expect(faultOf(asked).message).toMatch(/did not answer within 10 s/);
  });
});

test('one slow BMC among many says nothing about the others', () => {
  const pace = new Pace();
  for (let answer = 0; answer < 100; answer++) pace.note(10, answer);
  pace.note(4_000, 100);
  expect(pace.extra(5_000, 100)).toBe(0);
});

test('what was long ago says nothing', () => {
  const pace = new Pace();
  for (let answer = 0; answer < 100; answer++) pace.note(10_000, answer);
  expect(pace.extra(5_000, 100)).toBe(5_000);
  expect(pace.extra(5_000, 20_000)).toBe(0);
});
