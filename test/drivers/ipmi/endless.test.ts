import { afterEach, expect, test, vi } from 'vitest';
import type { IpmiLink, IpmiRequest } from '../../../src/protocols/ipmi/link.ts';
import { over } from './script.ts';

afterEach(() => void vi.useRealTimers());
const signal = new AbortController().signal;

const commands = { sdrInfo: 0x20, reserve: 0x22, getSdr: 0x23, selInfo: 0x40, getSel: 0x43 };
const uint16 = (value: number): number[] => [value & 0xff, (value >> 8) & 0xff];
/** One record that stands for 15 sensors, cut to what its header announces: compact, shared. */
const compact = Buffer.alloc(32);
compact.set([0, 0, 0x51, 0x02, 27], 0);
compact[23] = 0x0f;

/** A BMC that has so many sensor records and log entries, each pointing to the next. */
function full(records: number, entries: number, pause = async (_signal: AbortSignal): Promise<void> => {}): IpmiLink {
  const follower = (id: number, last: number): number[] => uint16(id + 1 >= last ? 0xffff : id + 1);
  const answer = ({ command, data = Buffer.alloc(0) }: IpmiRequest): number[] => {
    const id = data.length >= 4 ? (data[2] ?? 0) | ((data[3] ?? 0) << 8) : 0;
    if (command === commands.sdrInfo || command === commands.selInfo)
      return [0x51, ...uint16(entries), ...Array(11).fill(0)];
    if (command === commands.reserve) return [1, 0];
    if (command === commands.getSdr) {
      const [from = 0, length = 0] = [data[4], data[5]];
      return [...follower(id, records), ...compact.subarray(from, from + length)];
    }
    if (command === commands.getSel) return [...follower(id, entries), ...uint16(id), 0x02, ...Array(13).fill(0)];
    return [];
  };
  return {
    async request(request, left) {
      await pause(left);
      return { code: 0, data: Buffer.from(answer(request)) };
    },
  };
}

test('sensor records without an end are given up', async () => {
  await expect(over(full(65_535, 0)).vitals.read(['temp'], signal)).rejects.toMatchObject({
    kind: 'garbled',
    message: expect.stringMatching(/lists more than 4096 sensor records/),
  });
});

test('a full log is told by the names of thousands of sensors', async () => {
  const lines = await over(full(4_000, 20_000)).eventLog.read(signal);
  expect(lines).toHaveLength(20_000);
  expect(lines[0]).toMatch(/Reserved, State 0/);
});

test('a reading of many answers, each in time, ends all the same', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const slowly = (left: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      setTimeout(resolve, 4_000);
      left.addEventListener('abort', () => reject(left.reason as Error));
    });
  const slow = full(0, 65_535, slowly);
  const read = over(slow).eventLog.read(signal);
  const outcome = expect(read).rejects.toMatchObject({
    kind: 'deadline',
    message: /not answered all questions after 600 s/,
  });
  await vi.advanceTimersByTimeAsync(700_000);
  await outcome;
});
