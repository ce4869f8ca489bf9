import type { AddressGuard } from '../core/address-guard.ts';
import { Fault, Unreachable } from '../core/errors.ts';
import { limiter } from '../core/limiter.ts';
import { IpmiClient } from '../protocols/ipmi/client.ts';
import { RedfishClient, type Trust } from '../protocols/redfish/client.ts';
import { Refusal } from '../protocols/redfish/faults.ts';
import type { BmcAccess } from './bmc/target.ts';
import type { Labelled } from './capabilities.ts';
import type { Driver } from './driver.ts';
import { ipmiDriver, ipmiProblems } from './ipmi/index.ts';
import { redfishProblems } from './redfish/driver.ts';
import { redfishDriver } from './redfish/index.ts';

export interface Account {
  readonly username: string;
  readonly password: string;
}

/** A BMC that was found; what it says of itself needs an account it accepts. */
export interface Found {
  readonly address: string;
  readonly kind: 'ipmi' | 'redfish';
  readonly model: string;
  readonly serial: string;
  readonly mac: string;
  /** Why it would not say more. */
  readonly note: string;
}

/** Milliseconds for an address to answer. */
const timeout = 4_000;
const atOnce = 256;
/** Power is never switched here. */
const powerTimeout = 0;

/** Nothing is known of these services yet, so whatever certificate they show is taken and forgotten. */
const trust: Trust = { known: () => undefined, learn: async () => {} };

/** Finds BMCs nobody has defined yet. It sends the one account it is given and never tries another. */
export class Discovery {
  readonly #ipmi = new IpmiClient();
  readonly #redfish = new RedfishClient({
    trust,
    connectTimeout: timeout,
    // An account that was tried is not kept longer than the search takes.
    idle: timeout,
  });
  readonly #drivers: Readonly<Record<Found['kind'], Driver<BmcAccess>>> = {
    ipmi: ipmiDriver({ connections: this.#ipmi, powerTimeout }),
    redfish: redfishDriver({ client: this.#redfish, trust, powerTimeout }),
  };

  readonly #guard: AddressGuard;

  constructor(guard: AddressGuard) {
    this.#guard = guard;
  }

  async close(): Promise<void> {
    await Promise.all([this.#ipmi.close(), this.#redfish.close()]);
  }

  /** All that answer, in the order of the addresses. */
  async search(
    addresses: readonly string[],
    kinds: readonly Found['kind'][],
    account: Account | undefined,
    signal: AbortSignal,
  ): Promise<Found[]> {
    for (const address of addresses) await this.#guard.admit(address);
    const inTurn = limiter(atOnce);
    const look = async (address: string): Promise<Found | undefined> =>
      signal.aborted ? undefined : this.#look(address, kinds, account, signal);
    const found = await Promise.all(addresses.map((address) => inTurn(() => look(address))));
    signal.throwIfAborted();
    return found.filter((one) => one !== undefined);
  }

  /** Fails with the reason if no BMC at the address accepts the account. */
  async logIn(address: string, account: Account, signal: AbortSignal): Promise<Found> {
    await this.#guard.admit(address);
    const kind = await this.#kindAt(address, ['redfish', 'ipmi'], signal);
    if (kind) return this.#identify(kind, address, account, signal);
    throw new Unreachable(`nothing at ${address} answers to IPMI or Redfish.`);
  }

  async #look(
    address: string,
    kinds: readonly Found['kind'][],
    account: Account | undefined,
    signal: AbortSignal,
  ): Promise<Found | undefined> {
    const kind = await this.#kindAt(address, kinds, signal);
    if (!kind) return undefined;
    const nothing: Found = { address, kind, model: '', serial: '', mac: '', note: '' };
    if (!account) return nothing;
    try {
      return await this.#identify(kind, address, account, signal);
    } catch (error) {
      if (!(error instanceof Fault) || signal.aborted) throw error;
      return { ...nothing, note: error.message };
    }
  }

  /** The first of the kinds that answers; they are asked at the same time, so that a dead address costs its time once. */
  async #kindAt(
    address: string,
    kinds: readonly Found['kind'][],
    signal: AbortSignal,
  ): Promise<Found['kind'] | undefined> {
    const answers = kinds.map((kind) => this.#answers(kind, address, signal));
    for (const answer of answers) answer.catch(() => {});
    for (const [index, kind] of kinds.entries()) if (await answers[index]) return kind;
    return undefined;
  }

  async #answers(kind: Found['kind'], address: string, signal: AbortSignal): Promise<boolean> {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)]);
    try {
      if (kind === 'ipmi') return await this.#ipmi.ping(address, undefined, limit);
      await this.#redfish.service({ address, username: '', password: '' }).root(limit);
      return true;
    } catch (error) {
      if (error instanceof Fault && !signal.aborted) return false;
      throw error;
    }
  }

  async #identify(
    kind: Found['kind'],
    address: string,
    { username, password }: Account,
    signal: AbortSignal,
  ): Promise<Found> {
    if (username === '') throw new Fault('invalid', 'the account has no user name.');
    const access: BmcAccess = { node: address, address, port: undefined, username, password };
    const problems = kind === 'ipmi' ? ipmiProblems(access) : redfishProblems(access, kind);
    if (problems.length > 0) throw new Fault('invalid', problems);
    const { inventory, serviceProcessor } = this.#drivers[kind].connect(access);
    try {
      const labels = await inventory!.read(['model', 'serial'], signal);
      const mac = await serviceProcessor!.get('mac', signal);
      return { address, kind, model: modelOf(labels), serial: serialOf(labels), mac: text(mac['BMC MAC']), note: '' };
    } catch (error) {
      throw error instanceof Fault && !signal.aborted ? withoutNode(error, username) : error;
    }
  }
}

/** Drivers know a node and its attributes; here there is only an address. */
function withoutNode(error: Fault, username: string): Fault {
  const sentences =
    error instanceof Refusal && error.status === 401
      ? [`the user "${username}" or the password is wrong.`]
      : error.sentences.map((sentence) => sentence.replaceAll(/\bits BMC( at [0-9a-f.:]+\w)?/gi, 'it'));
  return new Fault(error.kind, sentences, { cause: error });
}

const text = (value: Labelled[string] | undefined): string => (typeof value === 'string' ? value : '');
const modelOf = (labels: Labelled): string =>
  text(labels['System Model/MTM'] ?? labels['System Description'] ?? labels['SYSTEM Model']);
const serialOf = (labels: Labelled): string => text(labels['System Serial Number'] ?? labels['SYSTEM SerialNumber']);
