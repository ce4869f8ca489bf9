import { beforeEach, describe, expect, it } from 'vitest';
import { type Machine, readMachine } from '../../../src/boot/discovery/machine.ts';
import { UnmatchedMachines } from '../../../src/boot/discovery/unmatched.ts';

let waiting: UnmatchedMachines;
beforeEach(() => void (waiting = new UnmatchedMachines()));

const mac = (index: number): string => `52:54:01:00:${[index >> 8, index & 255].map(hex).join(':')}`;
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');
const machine = (index: number, more: object = {}): Machine =>
  readMachine(JSON.stringify({ macs: [{ mac: mac(index) }], ...more }));
const note = (index: number, address: string, more: object = {}, now = 0): void =>
  waiting.note(machine(index, more), address, 'why', now);
const macs = (now = 0): string[] => waiting.list(now).map((one) => one.machine.mac);

/** As much as a report can hold. */
const text = 'x'.repeat(256);
const large = {
  model: text,
  manufacturer: text,
  disks: Array.from({ length: 16 }, () => ({ name: text, model: text })),
  lldp: Array.from({ length: 60 }, (_, index) => ({ interface: `eth${index}`, chassis: text, port: text })),
};

describe('machines that wait', () => {
  it('take a bounded number of bytes together, and the last that were heard of stay', () => {
    for (let index = 0; index < 1_000; index++) note(index, `10.1.${index >> 8}.${index & 255}`, large);
    const kept = waiting.list(0);
    expect(JSON.stringify(kept).length).toBeLessThan(5 * 1024 * 1024);
    expect(kept.length).toBeGreaterThan(200);
    expect(kept.at(-1)!.machine.mac).toBe(mac(999));
    for (let index = 0; index < 2_000; index++) note(index, `10.2.${index >> 8}.${index & 255}`);
    expect(macs()).toHaveLength(2_000);
  });

  it('of one address are 16, and of one IPv6 network, also when one of them moves to another', () => {
    for (let index = 0; index < 40; index++) note(index, '10.1.0.1');
    for (let index = 100; index < 140; index++) note(index, `2001:db8::${index}`);
    expect(macs()).toEqual([...range(24, 40), ...range(124, 140)].map(mac));
    note(39, '10.1.0.2');
    note(50, '10.1.0.1');
    expect(macs()).toEqual([...range(24, 39), ...range(124, 140), 39, 50].map(mac));
    waiting.forget(machine(24));
    note(51, '10.1.0.1');
    expect(macs()).toEqual([...range(25, 39), ...range(124, 140), 39, 50, 51].map(mac));
  });

  it('are forgotten an hour after they were last heard of', () => {
    note(1, '10.1.0.1');
    note(2, '10.1.0.1', {}, 3_000_000);
    expect(macs(3_600_000)).toEqual([mac(2)]);
    note(3, '10.1.0.2', {}, 3_600_000);
    expect(macs(3_600_000)).toEqual([mac(2), mac(3)]);
  });

  it('keep few of the ports that switches have seen them behind', () => {
    const neighbours = Array.from({ length: 500 }, (_, index) => ({ interface: '', chassis: `sw${index}`, port: '1' }));
    waiting.note({ ...machine(1), neighbours }, '10.1.0.1', 'why', 0);
    expect(waiting.list(0)[0]!.machine.neighbours).toHaveLength(32);
  });
});

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);
