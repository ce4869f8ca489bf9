import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Fault } from '../../../src/core/errors.ts';
import type { FirmwareOrder, FirmwareTrace } from '../../../src/drivers/firmware.ts';
import { redfishDriver } from '../../../src/drivers/redfish/index.ts';
import { labAccounts } from '../../lab/addresses.ts';
import { labImage, type RedfishLab, startRedfish } from '../../lab/redfish.ts';
import { memoryTrust } from '../../protocols/redfish/memory-trust.ts';

const [plain, openbmc, sparse, enclosure] = [0, 1, 2, 3] as const;
const never = new AbortController().signal;
const port = 4431;

let lab: RedfishLab;
const { username, password } = labAccounts.administrator;
const driver = redfishDriver({
  trust: memoryTrust(),
  powerTimeout: 1_000,
  updateTimeout: 8_000,
  settleTime: 600,
  loginBrake: 100,
});

beforeAll(async () => {
  lab = await startRedfish({ count: 4, prefix: '127.207', port, kinds: ['plain', 'openbmc', 'sparse', 'enclosure'] });
});
afterAll(async () => {
  await driver.close();
  await lab?.stop();
});
afterEach(async () => {
  const whole = {
    time: 300,
    away: 300,
    neverBack: false,
    fails: false,
    keepsVersion: false,
    cutsAfter: false,
  } as const;
  for (const index of [plain, openbmc, sparse, enclosure])
    await lab.fault(index, {
      update: { ...whole, slowness: 0, talkative: false, foreign: false },
      dead: false,
      delay: 0,
    });
});

/** What is kept of an update, as a server of several would. */
interface Kept {
  trace: FirmwareTrace | undefined;
  readonly traces: FirmwareTrace[];
  readonly told: string[];
}

const kept = (trace?: FirmwareTrace): Kept => ({ trace, traces: [], told: [] });

const firmwareOf = (index: number) =>
  driver.connect({ node: `n${index}`, address: lab.addresses[index]!, port, username, password }).firmware!;

const watchOf = (own: Kept) => ({
  earlier: own.trace,
  async keep(trace: FirmwareTrace) {
    own.trace = trace;
    own.traces.push(trace);
  },
  async forget() {
    own.trace = undefined;
  },
  tell: (sentence: string) => void own.told.push(sentence),
});

const fileOf = (bytes: Buffer): FirmwareOrder['source'] => ({
  kind: 'file',
  name: 'image.bin',
  size: bytes.length,
  sha256: createHash('sha256').update(bytes).digest('hex'),
  async *pieces() {
    for (let at = 0; at < bytes.length; at += 65_536) yield bytes.subarray(at, at + 65_536);
  },
});

const orderOf = (source: FirmwareOrder['source'], more: Partial<FirmwareOrder> = {}): FirmwareOrder => ({
  source,
  component: undefined,
  apply: 'now',
  version: undefined,
  again: false,
  ...more,
});

const update = (index: number, order: FirmwareOrder, own = kept(), signal = never) =>
  firmwareOf(index).update(order, watchOf(own), signal);

const flash = (index: number, component: string, version: string, more: Partial<FirmwareOrder> = {}, own = kept()) =>
  update(index, orderOf(fileOf(labImage(component, version, 300_000)), more), own);

/** How many images a service has taken while something was done. */
async function takenBy(index: number, work: () => Promise<unknown>): Promise<number> {
  const before = (await lab.state(index)).images.length;
  await work();
  return (await lab.state(index)).images.length - before;
}

const refusal = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => {
      throw new Error('it was not refused');
    },
    (error: unknown) => {
      if (error instanceof Fault) return error;
      throw error;
    },
  );

describe('the firmware of a service', () => {
  it('is listed with components that do not depend on the machine', async () => {
    expect(await firmwareOf(openbmc).list(never)).toEqual({
      model: expect.any(String) as string,
      items: [
        { component: 'bmc', name: 'BMC Firmware', version: '2.15.1' },
        { component: 'bios', name: 'Host BIOS', version: 'LAB-BIOS-1.42' },
      ],
    });
  });

  it.each([
    ['plain', plain, 'multipart'],
    ['openbmc', openbmc, 'push'],
    ['sparse', sparse, 'push'],
  ] as const)('of kind %s is updated by a file, and the new version is seen', async (_kind, index, way) => {
    const own = kept();
    const outcome = await flash(index, 'bios', `B-${index}.1`, index === sparse ? { component: 'bios' } : {}, own);
    expect(outcome.state).toBe('updated');
    expect(outcome.changed).toEqual([{ component: 'bios', before: 'LAB-BIOS-1.42', after: `B-${index}.1` }]);
    const { images, isReserved } = await lab.state(index);
    expect(images.at(-1)).toEqual({
      component: 'bios',
      version: `B-${index}.1`,
      size: 300_000,
      apply: 'Immediate',
      way,
    });
    expect(isReserved).toBe(false);
    expect(own.trace).toBeUndefined();
    // It was kept before the service could have it.
    expect(own.traces[0]).toMatchObject({ step: 'sending', what: 'image.bin', before: { bios: 'LAB-BIOS-1.42' } });
  });

  it('of a BMC that restarts and forgets its task is followed until it is back', async () => {
    await lab.fault(plain, { update: { time: 3_000 } });
    const own = kept();
    const outcome = await flash(plain, 'bmc', '3.0.0', { component: 'bmc', version: '3.0.0' }, own);
    expect(outcome).toMatchObject({ state: 'updated', changed: [{ component: 'bmc', after: '3.0.0' }] });
    expect(own.told.join('\n')).toMatch(/Step \d of 5: writing bmc/);
    expect(await takenBy(plain, () => flash(plain, 'bmc', '3.0.0', { component: 'bmc', version: '3.0.0' }))).toBe(0);
  });

  it('is fetched from an address whose secrets nobody sees', async () => {
    const server = createServer((_request, response) => response.end(labImage('bios', 'B-9')));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/bios.bin?signature=abcdef123`;
    const own = kept();
    const outcome = await update(plain, orderOf({ kind: 'url', url }), own);
    expect(outcome.changed).toMatchObject([{ component: 'bios', after: 'B-9' }]);
    server.close();
    const failed = await refusal(update(plain, orderOf({ kind: 'url', url: url.replace('bios.bin', 'other') }), own));
    expect(failed.message).toMatch(/could not be fetched from http:\/\/127\.0\.0\.1:\d+\/other\?\*\*\*/);
    expect(JSON.stringify([own, failed.message])).not.toContain('abcdef123');
  });

  it('waits for its time where that is asked for, and is begun then', async () => {
    const own = kept();
    const staged = await flash(plain, 'bios', 'B-10', { apply: 'on-start' }, own);
    expect(staged).toMatchObject({ state: 'staged', changed: [] });
    expect(own.trace?.step).toBe('staged');
    expect(await takenBy(plain, () => flash(plain, 'bios', 'B-10', { apply: 'on-start' }, own))).toBe(0);
    const started = await firmwareOf(plain).start(watchOf(own), never);
    expect(started.changed).toMatchObject([{ component: 'bios', after: 'B-10' }]);
    expect((await flash(openbmc, 'bios', 'B-11', { apply: 'on-reset' })).state).toBe('staged');
    expect((await lab.state(openbmc)).images.at(-1)).toMatchObject({ apply: 'OnReset' });
    expect((await refusal(flash(openbmc, 'bios', 'B-12', { apply: 'on-start' }))).message).toMatch(
      /it has now, on-reset/,
    );
  });

  it('stays as it is when the service refuses the image, and its words are passed on', async () => {
    const own = kept();
    const wrong = orderOf(fileOf(Buffer.from('this is no image at all')));
    expect((await refusal(update(plain, wrong, own))).message).toContain('The image is not one for this machine.');
    expect(own.trace).toBeUndefined();
    const other = await refusal(flash(plain, 'bios', 'B-13', { component: 'bmc' }));
    expect(other.message).toMatch(/The image is for bios, not for/);
    const unknown = await refusal(flash(plain, 'bios', 'B-13', { component: 'nic' }));
    expect(unknown.message).toMatch(/has no component "nic"; it has bmc, bios\./);
    expect((await refusal(flash(enclosure, 'bios', 'B-13'))).message).toMatch(/takes no files\. Give the address/);
    const url = 'http://127.0.0.1/x';
    expect((await refusal(update(sparse, orderOf({ kind: 'url', url })))).message).toMatch(/has no SimpleUpdate/);
  });

  it('that fails in the end has failed, with what the service says', async () => {
    await lab.fault(plain, { update: { fails: 'The checksum of block 7 is wrong.' } });
    const own = kept();
    const failed = await refusal(flash(plain, 'bios', 'B-14', {}, own));
    expect(failed.message).toMatch(/could not carry out the update\. It says: .*The checksum of block 7 is wrong\./);
    expect(own.trace).toBeUndefined();
  });

  it('whose version is as before after success is an error that says so, and is not sent again unasked', async () => {
    await lab.fault(plain, { update: { keepsVersion: true } });
    const own = kept();
    const { message } = await refusal(flash(plain, 'bios', 'B-15', { component: 'bios' }, own));
    expect(message).toMatch(
      /says that it has carried out the update with image\.bin, but no version has changed: bios/,
    );
    const sent = await takenBy(plain, async () => {
      const second = await refusal(flash(plain, 'bios', 'B-15', { component: 'bios' }, own));
      expect(second).toMatchObject({ kind: 'conflict', message: expect.stringMatching(/add --again/) as string });
    });
    expect(sent).toBe(0);
    await lab.fault(plain, { update: { keepsVersion: false } });
    expect((await flash(plain, 'bios', 'B-15', { component: 'bios', again: true }, own)).state).toBe('updated');
  });

  it('of a BMC that never comes back is given up after its time, and remembered', async () => {
    await lab.fault(plain, { update: { neverBack: true } });
    const own = kept();
    const { kind, message } = await refusal(flash(plain, 'bmc', '4.0.0', {}, own));
    expect([kind, message]).toEqual(['deadline', expect.stringMatching(/has not come back/)]);
    expect(own.trace).toMatchObject({ step: 'sent' });
    await lab.fault(plain, { dead: false });
    await sleep(200);
    // What was sent has come about meanwhile.
    const sent = await takenBy(plain, async () => {
      expect(await flash(plain, 'bmc', '4.0.0', {}, own)).toMatchObject({
        state: 'updated',
        changed: [{ after: '4.0.0' }],
      });
    });
    expect(sent).toBe(0);
  }, 30_000);
});

describe('an update that was begun before', () => {
  it('is followed to its end and not sent again, whatever of it was known', async () => {
    for (const [step, version] of [
      ['sent', 'C-1'],
      ['sending', 'C-2'],
    ] as const) {
      await lab.fault(plain, { update: { time: 1_500 } });
      const own = kept();
      const stop = new AbortController();
      const source = fileOf(labImage('bios', version));
      const first = update(plain, orderOf(source), own, stop.signal).catch((error: unknown) => error);
      await expect.poll(() => own.told.some((told) => told.includes('Step'))).toBe(true);
      // As a process that is killed leaves it.
      const left = { ...own.trace!, step, task: step === 'sent' ? own.trace!.task : undefined };
      stop.abort(new Fault('unavailable', 'killed.'));
      await first;
      const again = kept(left);
      const sent = await takenBy(plain, async () => {
        expect((await update(plain, orderOf(source), again)).changed).toMatchObject([
          { component: 'bios', after: version },
        ]);
      });
      expect(sent).toBe(0);
      expect(again.told[0]).toMatch(/was sent earlier; its BMC is still at work on it/);
    }
  });

  it('keeps an update with another image away until it has ended', async () => {
    await lab.fault(plain, { update: { time: 1_000 } });
    const own = kept();
    const first = flash(plain, 'bios', 'C-3', {}, own);
    await expect.poll(() => own.trace?.step).toBe('sent');
    const sent = await takenBy(plain, async () => {
      const other = await refusal(flash(plain, 'bios', 'C-4', {}, kept(own.trace)));
      expect(other).toMatchObject({ kind: 'conflict', message: expect.stringMatching(/still carries out/) as string });
    });
    expect(sent).toBe(0);
    expect((await first).state).toBe('updated');
  });

  it('by somebody else keeps every update away', async () => {
    await lab.fault(plain, { update: { foreign: true } });
    const sent = await takenBy(plain, async () => {
      const { message } = await refusal(flash(plain, 'bios', 'C-5'));
      expect(message).toMatch(/carrying out an update that muster did not begin \(Running 40 %\)/);
    });
    expect(sent).toBe(0);
  });

  it('and whose file did not arrive is sent again when the service does nothing', async () => {
    await lab.fault(plain, { update: { cutsAfter: 100_000 } });
    const own = kept();
    const { message } = await refusal(flash(plain, 'bios', 'C-6', {}, own));
    expect(message).toMatch(/The connection was lost while its BMC was given the image/);
    expect(own.trace?.step).toBe('sending');
    await lab.fault(plain, { update: { cutsAfter: false } });
    expect((await flash(plain, 'bios', 'C-6', {}, own)).state).toBe('updated');
  });

  it('of a service without tasks that has shown no new version is not sent again unasked', async () => {
    const versions = (await lab.state(sparse)).versions;
    const source = fileOf(labImage('bios', 'C-7'));
    const before = { bios: versions['bios']!, bmc: versions['bmc']! };
    const own = kept();
    await lab.fault(sparse, { update: { cutsAfter: 1_000 } });
    await refusal(update(sparse, orderOf(source), own));
    expect(own.trace).toMatchObject({ step: 'sending', before });
    await lab.fault(sparse, { update: { cutsAfter: false } });
    expect((await refusal(update(sparse, orderOf(source), own))).kind).toBe('conflict');
    expect((await update(sparse, orderOf(source, { again: true }), own)).state).toBe('updated');
  });
});

describe('a service that is not well', () => {
  it('may talk far too much, and what is told of it is bounded', async () => {
    await lab.fault(openbmc, { update: { talkative: true } });
    const own = kept();
    expect((await flash(openbmc, 'bios', 'D-1', {}, own)).state).toBe('updated');
    expect(Math.max(...own.told.map((told) => told.length))).toBeLessThanOrEqual(300);
    expect(own.told.join('')).not.toContain('\u001B');
  });

  it('may take a file slowly, and then it is not held in memory', async () => {
    await lab.fault(plain, { update: { slowness: 5 } });
    let read = 0;
    const piece = Buffer.alloc(262_144, 1);
    const head = labImage('bios', 'D-2', piece.length);
    const pieces = 100;
    let mostAhead = 0;
    const source: FirmwareOrder['source'] = {
      kind: 'file',
      name: 'large.bin',
      size: pieces * piece.length,
      sha256: 'x',
      async *pieces() {
        const began = performance.now();
        for (let i = 0; i < pieces; i++) {
          read = i;
          yield i === 0 ? head : piece;
        }
        mostAhead = performance.now() - began;
      },
    };
    const sending = update(plain, orderOf(source));
    await expect.poll(() => read).toBeGreaterThan(5);
    expect(read).toBeLessThan(pieces - 1);
    expect((await sending).state).toBe('updated');
    expect((await lab.state(plain)).images.at(-1)?.size).toBe(pieces * piece.length);
    expect(mostAhead).toBeGreaterThan(0);
  });

  it('answers other questions while it takes a file', async () => {
    await lab.fault(plain, { update: { slowness: 20 } });
    const own = kept();
    const sending = flash(plain, 'bios', 'D-3', {}, own);
    await expect.poll(() => own.trace?.step).toBe('sending');
    const access = { node: 'n0', address: lab.addresses[plain]!, port, username, password };
    expect(await driver.connect(access).power!.state(never)).toMatch(/on|off/);
    expect((await sending).state).toBe('updated');
  });
});
