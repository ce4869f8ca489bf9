import { createHmac, randomUUID } from 'node:crypto';
import { lookup as lookUp, type LookupAddress, type LookupOptions } from 'node:dns';
import { request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import { AddressGuard, isInner } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { http } from '../../core/http.ts';

/** Bounds where events are pushed to: whoever may write the table could otherwise have muster ask anything that only it can reach. */
export class ReceiverGuard {
  readonly #guard: AddressGuard | undefined;

  constructor(networks: readonly string[] | undefined) {
    this.#guard = networks && new AddressGuard(networks, 'receiver');
  }

  /** Judges an address that is written as such; names are judged when they are resolved. */
  checkHost(host: string): void {
    const address = host.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0) this.#check(address, address);
  }

  /** Resolves names for connections, and fails for those that lead where nothing may be pushed to. */
  readonly lookup = (
    name: string,
    options: LookupOptions,
    done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
  ): void => {
    lookUp(name, { ...options, all: true }, (error, found) => {
      if (error) return done(error, []);
      try {
        for (const { address } of found) this.#check(address, name);
      } catch (fault) {
        return done(fault as Error, []);
      }
      if (options.all) done(null, found);
      else done(null, found[0]!.address, found[0]!.family);
    });
  };

  #check(address: string, shown: string): void {
    if (this.#guard) return this.#guard.check(address, shown);
    if (isInner(address))
      throw new Fault(
        'invalid',
        `${shown} is on this machine or its link (${address}), and muster pushes no events there; if it is a receiver, name its network in the setting hooks.networks.`,
      );
  }
}

interface Push {
  readonly url: string;
  readonly secret: string | undefined;
  readonly body: string;
  readonly guard: ReceiverGuard;
  readonly ca: readonly string[] | undefined;
  readonly milliseconds: number;
}

/** The signature covers the time, so that an old push cannot be sent again unnoticed. */
const signature = (secret: string, time: number, body: string): string =>
  `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`;

/** Resolves when the receiver has taken it; nobody is followed to another place. */
export function push({ url, secret, body, guard, ca, milliseconds }: Push): Promise<void> {
  const target = new URL(url);
  guard.checkHost(target.hostname);
  const time = Math.floor(Date.now() / 1_000);
  const headers: Record<string, string | number> = {
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
    'User-Agent': 'muster',
    'X-Muster-Delivery': randomUUID(),
    ...(secret === undefined ? {} : { 'X-Muster-Signature': signature(secret, time, body) }),
  };
  const options = { method: 'POST', headers, lookup: guard.lookup, agent: false as const };
  return new Promise((resolve, reject) => {
    const sending =
      target.protocol === 'https:'
        ? secureRequest(target, { ...options, ...(ca ? { ca: [...ca] } : {}) })
        : http.request(target, options);
    const late = setTimeout(
      () => sending.destroy(new Error(`the receiver did not answer within ${milliseconds / 1_000} s`)),
      milliseconds,
    );
    sending.once('response', (response) => {
      const { statusCode = 0 } = response;
      // What it has to say is of no interest, and may be long.
      response.destroy();
      if (statusCode >= 200 && statusCode < 300) resolve();
      else reject(new Error(`the receiver answered with status ${statusCode}`));
    });
    sending.on('error', reject);
    sending.once('close', () => clearTimeout(late));
    sending.end(body);
  });
}
