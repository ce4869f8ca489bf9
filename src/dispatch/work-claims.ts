import { Type } from 'typebox';
import { Fault } from '../core/errors.ts';
import type { Logger } from '../core/log.ts';
import { Turns } from '../core/waiting.ts';
import { leasedKinds, usualTimes } from '../database/leases.ts';
import { bodyReader } from '../database/record-bodies.ts';
import type { Servers } from '../database/servers.ts';
import type { SharedRecord, SharedRecords } from '../database/shared-records.ts';
import type { Claim, HeldSubject, OtherClaim, SubjectClaims } from '../work/index.ts';

/** Who works on a subject, for as long as that is renewed. */
const claimKind = leasedKinds.work;
/** The run that was the last to begin on a subject. */
const latestKind = 'work-latest';
/** Milliseconds that a claim holds, and between two renewals. */
const { lease, renewal } = usualTimes;
/** More than servers have. */
const mostClaims = 10_000;
/** Longer than any run takes. */
const latestKept = 30 * 86_400_000;

interface Services {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'name' | 'machine'>;
  /** The directory that this process has the lock of. */
  readonly data: string;
  readonly log: Logger;
}

type ClaimBody = OtherClaim & { readonly data: string; readonly machine?: string };
const readClaim = bodyReader<ClaimBody>(
  Type.Object({
    subject: Type.String(),
    run: Type.String(),
    command: Type.String(),
    user: Type.String(),
    started: Type.Number(),
    server: Type.Optional(Type.String()),
    data: Type.String(),
    machine: Type.Optional(Type.String()),
  }),
);

/** Claims in the database: a server that is killed gives up what it has when it no longer renews it. */
export class WorkClaims implements SubjectClaims {
  readonly #services: Services;

  constructor(services: Services) {
    this.#services = services;
  }

  /** Gives up what earlier processes had that were killed: this one has the lock of their data directory. */
  async resume(): Promise<void> {
    const { shared, servers, data, log } = this.#services;
    for (const record of await shared.list({ kind: claimKind, besides: servers.id, limit: mostClaims })) {
      const claim = readClaim(record, log);
      const isOfMachine = claim?.server === servers.name && claim.machine === servers.machine;
      if (isOfMachine && claim.data === data) await shared.release(record);
    }
  }

  async take(claim: Claim): Promise<HeldSubject | OtherClaim> {
    const { shared, servers, data, log } = this.#services;
    const { subject, run, command, user, started } = claim;
    const { name: server, machine } = servers;
    const body: ClaimBody = { subject, run, command, user, started, server, data, ...(machine && { machine }) };
    const record = { kind: claimKind, name: subject, holder: servers.id, body: JSON.stringify(body) };
    for (;;) {
      const asked = performance.now();
      if (await shared.claim(record, lease)) {
        await shared.put([{ kind: latestKind, name: subject, holder: servers.id, body: run }], latestKept);
        return new HeldClaim(this.#services, record, run, asked);
      }
      const taken = await shared.get(claimKind, subject);
      // Else it was released in between.
      if (taken) return readClaim(taken, log) ?? unreadable(taken);
    }
  }
}

function unreadable({ name }: SharedRecord): never {
  throw new Fault(
    'conflict',
    `A server of another version works on ${name}; try again when that has ended, and run the same version on all servers.`,
  );
}

/** The claim may have ended while this process was suspended. */
const uncertain = new Error('It is not certain that the subject is still held.');

class HeldClaim implements HeldSubject {
  readonly #services: Services;
  readonly #record: SharedRecord;
  readonly #run: string;
  readonly #lost = new AbortController();
  readonly #turns = new Turns();
  readonly #timer: NodeJS.Timeout;
  /** When the question was asked to which the answer was that it is held. */
  #renewed: number;

  constructor(services: Services, record: SharedRecord, run: string, asked: number) {
    this.#services = services;
    this.#record = record;
    this.#run = run;
    this.#renewed = asked;
    this.#timer = setInterval(() => void this.#renewSoon(), renewal).unref();
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  async settle<T>(step: (check: () => void) => Promise<T>): Promise<T> {
    for (;;) {
      await this.#renew();
      try {
        return await step(() => {
          if (performance.now() - this.#renewed > lease) throw uncertain;
        });
      } catch (error) {
        if (error !== uncertain) throw error;
      }
    }
  }

  async release(): Promise<void> {
    clearInterval(this.#timer);
    await this.#turns
      .take(() => this.#services.shared.release(this.#record))
      .catch((error: unknown) =>
        this.#services.log.warn({ err: error }, `${this.#record.name} stays taken for some seconds`),
      );
  }

  /** The work goes on while the database is away: whether somebody else has begun meanwhile shows at its end. */
  async #renewSoon(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      if (!this.lost.aborted)
        this.#services.log.warn(
          { err: error },
          `the claim on ${this.#record.name} could not be renewed; it is tried again`,
        );
    }
  }

  #renew(): Promise<void> {
    return this.#turns.take(() => this.#takeAgain());
  }

  /** Also if the claim had ended, unless somebody else has begun since. */
  async #takeAgain(): Promise<void> {
    const { shared } = this.#services;
    const asked = performance.now();
    const isHeld = await shared.claim(this.#record, lease);
    const latest = await shared.get(latestKind, this.#record.name);
    if (isHeld && (!latest || latest.body === this.#run)) {
      this.#renewed = asked;
      return;
    }
    const fault = new Fault(
      'conflict',
      `This server did not reach the database for some time, and another run has begun on ${this.#record.name} since. Nothing of this run was kept; send the request again when the other has ended.`,
    );
    this.#lost.abort(fault);
    throw fault;
  }
}
