import { describe, expect, it } from 'vitest';
import { AuditQueue, auditTime } from '../../src/database/audit-queue.ts';

const record = (time: number) => ({
  time,
  user: 'root',
  client: '127.0.0.1',
  command: 'lsdef',
  noderange: 'n1',
  args: '-t node -o n1',
  status: 'Allowed',
  request: `r${time}`,
});

const times = (texts: readonly string[]): number[] => texts.map(auditTime);
const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('records that wait for the disk', () => {
  it.each([0, 1, 63, 64, 65, 200])('are taken all %i in their order, and once', (count) => {
    const queue = new AuditQueue();
    for (const time of upTo(count)) queue.add(record(time));
    expect(queue.length).toBe(count);
    expect(times(queue.take())).toEqual(upTo(count));
    expect(queue.length).toBe(0);
    expect(queue.take()).toEqual([]);
  });

  it('that could not be written are the first to be taken again', () => {
    const queue = new AuditQueue();
    for (const time of upTo(70)) queue.add(record(time));
    const failed = queue.take();
    for (const time of upTo(70)) queue.add(record(70 + time));
    queue.giveBack(failed);
    expect(queue.length).toBe(140);
    expect(times(queue.take())).toEqual(upTo(140));
  });
});
