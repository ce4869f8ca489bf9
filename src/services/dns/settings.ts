import type { ListenAddress } from '../../core/listen-address.ts';

/** `none`: muster runs no name server here, only one elsewhere can be updated. */
export type DnsKeeper = 'auto' | 'systemd' | 'process' | 'none';

export interface DnsSettings {
  readonly daemon: DnsKeeper;
  /** For zones and key; undefined: where the distribution lets named write, or below the data directory. */
  readonly directory: string | undefined;
  /** The file named reads first; undefined: that of the distribution, or in the directory. */
  readonly configuration: string | undefined;
  /** The user that named runs as, where muster starts it; undefined: muster's own. */
  readonly user: string | undefined;
  /** Where named serves; undefined: port 53 on all addresses, or on those of `site.dnsinterfaces`. */
  readonly listen: readonly ListenAddress[] | undefined;
}
