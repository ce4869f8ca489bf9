import { lookup as lookUp, type LookupAddress, type LookupOptions } from 'node:dns';
import { isIP } from 'node:net';
import { Fault } from '../../core/errors.ts';
import { isInner } from '../../core/address-guard.ts';

/** Bounds where we connect to: an image is asked for by text, and registries send us on to others. */
export class Hosts {
  readonly #named: ReadonlySet<string>;

  /** `named`: host:port of those that the configuration names, which may have any address. */
  constructor(named: Iterable<string>) {
    this.#named = new Set(named);
  }

  /** Judges an address that is written as such; names are judged when they are resolved. */
  checkAddress(host: string, port: number): void {
    const address = host.replace(/^\[|\]$/g, '');
    if (isIP(address) !== 0) this.#check(address, host, port);
  }

  /** Resolves names for connections to a port, and fails for those that lead to this machine. */
  lookupFor(port: number) {
    return (
      name: string,
      options: LookupOptions,
      done: (error: Error | null, address: string | LookupAddress[], family?: number) => void,
    ): void => {
      lookUp(name, { ...options, all: true }, (error, found) => {
        if (error) return done(error, []);
        try {
          for (const { address } of found) this.#check(address, name, port);
        } catch (fault) {
          return done(fault as Error, []);
        }
        if (options.all) done(null, found);
        else done(null, found[0]!.address, found[0]!.family);
      });
    };
  }

  #check(address: string, host: string, port: number): void {
    if (this.#named.has(`${host}:${port}`)) return;
    if (!isInner(address)) return;
    throw new Fault(
      'invalid',
      `${host}:${port} is on this machine or its link (${address}), where muster expects no registry; if one is there, name it in the setting images.registries.`,
    );
  }
}
