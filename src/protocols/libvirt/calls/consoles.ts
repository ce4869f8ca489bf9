import type { CallOptions, LibvirtConnection, OpenStream, StreamListener } from '../connection.ts';
import { procedures } from '../procedures.ts';
import { aboutDomain, type Domain } from './domains.ts';

const force = 1;

/** The first console of a machine that runs. `takeOver`: whoever has it loses it. */
export function openConsole(
  connection: LibvirtConnection,
  domain: Domain,
  takeOver: boolean,
  listener: StreamListener,
  options: CallOptions,
): Promise<OpenStream> {
  const body = aboutDomain(domain)
    .optional(undefined, () => undefined)
    .uint(takeOver ? force : 0);
  return connection.openStream(procedures.domainOpenConsole, body, listener, options);
}
