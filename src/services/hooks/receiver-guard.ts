import { lookup as lookUp, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { AddressGuard } from '../../core/address-guard.ts';
import { Fault } from '../../core/errors.ts';
import { isInner } from '../../core/inner-addresses.ts';

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
        `${shown} is on this machine or its link (${address}), where nothing is pushed to; if a receiver is there, name its network in the setting hooks.networks.`,
      );
  }
}
