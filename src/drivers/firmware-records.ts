import { Type } from 'typebox';
import type { Effect, FirmwareTrace } from '../core/effects.ts';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import type { Origin } from '../database/changeset.ts';
import { bodyReader } from '../database/record-bodies.ts';
import type { Servers } from '../database/servers.ts';
import type { SharedRecords } from '../database/shared-records.ts';

/** What was sent to a device; and which server is at work on it, for as long as it says so. */
const traceKind = 'firmware';
const turnKind = 'firmware-turn';
/** Milliseconds that a server has a device without a sign of life; while it follows an update it gives one every 15 s. */
const turn = 90_000;
/** What nobody has asked about for so long, nobody goes on with. */
const kept = 30 * 86_400_000;
/** More than servers work on. */
const mostTurns = 100_000;

interface Services {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'name' | 'machine'>;
  /** The directory that this process has the lock of. */
  readonly data: string;
  readonly log: Logger;
}

interface Settings {
  readonly flashAsk: number;
  readonly flashAtOnce: number;
  readonly flashFailures: number;
}

interface TurnBody {
  readonly run: string;
  readonly server: string;
  readonly data: string;
  readonly machine?: string;
}

const readTrace = bodyReader<FirmwareTrace>(
  Type.Object({
    key: Type.String(),
    what: Type.String(),
    step: Type.Union([Type.Literal('sending'), Type.Literal('sent'), Type.Literal('staged')]),
    task: Type.Optional(Type.String()),
    before: Type.Record(Type.String(), Type.String()),
  }),
);
const readTurn = bodyReader<TurnBody>(
  Type.Object({
    run: Type.String(),
    server: Type.String(),
    data: Type.String(),
    machine: Type.Optional(Type.String()),
  }),
);

/** What devices were given, as all servers know it, and what bounds updates. */
export class FirmwareRecords {
  readonly limits: Settings;
  readonly #services: Services;

  constructor(limits: Settings, services: Services) {
    this.limits = limits;
    this.#services = services;
  }

  /** Gives up what earlier processes had that were killed: this one has the lock of their data directory. */
  async resume(): Promise<void> {
    const { shared, servers, data, log } = this.#services;
    for (const record of await shared.list({ kind: turnKind, besides: servers.id, limit: mostTurns })) {
      const body = readTurn(record, log);
      const isOfMachine = body?.server === servers.name && body.machine === servers.machine;
      if (isOfMachine && body.data === data) await shared.release(record);
    }
  }

  async earlier(device: string): Promise<FirmwareTrace | undefined> {
    const record = await this.#services.shared.get(traceKind, device);
    return record && readTrace(record, this.#services.log);
  }

  /** A server keeps what it sends only while no other is at work on the device. */
  async keep(
    device: string,
    trace: FirmwareTrace,
    { run, seen }: { readonly run: string; readonly seen: FirmwareTrace | null | undefined },
  ): Promise<void> {
    const { shared, servers, data, log } = this.#services;
    const { id: holder, name: server, machine } = servers;
    const body: TurnBody = { run, server, data, ...(machine === undefined ? {} : { machine }) };
    if (!(await shared.claim({ kind: turnKind, name: device, holder, body: JSON.stringify(body) }, turn))) {
      const other = await shared.get(turnKind, device);
      const turnOf = other && readTurn(other, log);
      throw new Fault(
        'unavailable',
        `another server${turnOf ? ` (${turnOf.server}, run ${turnOf.run})` : ''} is updating its BMC; wait until that has ended.`,
      );
    }
    const known = seen === undefined ? undefined : await this.earlier(device);
    if (known && JSON.stringify(known) !== JSON.stringify(seen))
      throw new Fault(
        'unavailable',
        'another update of its BMC was begun meanwhile; nothing was sent. rflash shows what became of it when it is called again.',
      );
    await shared.put([{ kind: traceKind, name: device, holder, body: JSON.stringify(trace) }], kept);
  }

  /** Nothing is under way any more. */
  async forget(device: string): Promise<void> {
    const { shared, servers } = this.#services;
    await shared.remove(traceKind, [device]);
    await shared.release({ kind: turnKind, name: device, holder: servers.id });
  }
}

/** Keeps what work on firmware reports. */
export const firmwareEffects = (records: FirmwareRecords) => ({
  firmware: (_node: string, { device, trace, seen }: Extract<Effect, { kind: 'firmware' }>, { run }: Origin) =>
    trace === null ? records.forget(device) : records.keep(device, trace, { run, seen }),
});
