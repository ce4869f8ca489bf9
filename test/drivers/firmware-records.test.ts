import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLog } from '../../src/core/log.ts';
import type { FirmwareTrace } from '../../src/core/effects.ts';
import { FirmwareRecords } from '../../src/drivers/firmware-records.ts';
import { memoryStore, type TestStore } from '../harness/store.ts';

const limits = { flashAsk: 8, flashAtOnce: 32, flashFailures: 5 };
const device = 'redfish 10.0.0.1:';
const log = createLog('silent');
const trace: FirmwareTrace = { key: 'k', what: 'bios.bin', step: 'sending', before: { bios: '1' } };

let store: TestStore;
beforeAll(async () => {
  store = await memoryStore();
});
afterAll(() => store.close());

const records = (id: string, data: string): FirmwareRecords =>
  new FirmwareRecords(limits, {
    shared: store.store.database.shared,
    servers: { id, name: 'mn', machine: 'm' },
    data,
    log,
  });
const by = (run: string, seen?: FirmwareTrace | null) => ({ run, seen });

describe('what is known of updates', () => {
  it('keeps a device for one server until it says that nothing is under way', async () => {
    const [first, second] = [records('a', '/one'), records('b', '/two')];
    await first.keep(device, trace, by('r1', null));
    expect(await second.earlier(device)).toEqual(trace);
    await expect(second.keep(device, trace, by('r2'))).rejects.toThrow(
      /another server \(mn, run r1\) is updating its BMC/,
    );
    await first.forget(device);
    expect(await second.earlier(device)).toBeUndefined();
    await second.keep(device, trace, by('r2', null));
    await second.forget(device);
  });

  it('refuses to begin where another update was begun since somebody looked', async () => {
    const one = records('a', '/one');
    await one.keep(device, trace, by('r1', null));
    await expect(one.keep(device, { ...trace, key: 'other' }, by('r2', null))).rejects.toThrow(/begun meanwhile/);
    await one.keep(device, { ...trace, step: 'sent', task: '/t/1' }, by('r1', trace));
    expect(await one.earlier(device)).toEqual({ ...trace, step: 'sent', task: '/t/1' });
    await one.forget(device);
  });

  it('is taken over by the server that is started again on the same data, and by no other', async () => {
    await records('killed', '/one').keep(device, trace, by('r1', null));
    const other = records('c', '/two');
    await other.resume();
    await expect(other.keep(device, trace, by('r2'))).rejects.toThrow(/another server/);
    const again = records('d', '/one');
    await again.resume();
    await again.keep(device, { ...trace, step: 'sent' }, by('r3', trace));
    await again.forget(device);
  });
});
