/** `none`: somebody else runs Kea; muster writes its files and speaks to its sockets. */
export type DhcpKeeper = 'auto' | 'systemd' | 'process' | 'none';

export interface DhcpSettings {
  readonly daemon: DhcpKeeper;
  /** For configuration, control sockets and leases; undefined: where the distribution has them, or below the data directory. */
  readonly directory: string | undefined;
  /** A URL postgresql://user:password@host:port/name of Kea's host table; undefined: reservations are in the configuration. */
  readonly hostsDatabase: string | undefined;
  /** The URL of the script that iPXE loads; SERVER is replaced by the address of the server, ${...} by iPXE. */
  readonly bootScript: string;
}
