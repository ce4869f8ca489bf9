import { Fault } from '../../core/errors.ts';
import { DnsFault, rcode } from '../../protocols/dns/codes.ts';

/** What went wrong with a name server or with our files about it, as an error that the client understands; any other as it is. */
export const serviceFault = (server: string, error: unknown): unknown =>
  error instanceof DnsFault ? serverFault(server, error) : storageFault(error);

export function serverFault(server: string, error: DnsFault): Fault {
  const what =
    error.failure === 'unreachable' || error.failure === 'late'
      ? `The name server ${server} cannot be reached: ${error.message}.`
      : `The name server ${server} has not made the change: ${error.message}.`;
  return new Fault('unavailable', [what, remedy(error)], { cause: error, retryAfter: 5 });
}

export function inZone(error: DnsFault, zone: string): DnsFault {
  if (error.failure !== 'refused') return error;
  return new DnsFault(error.failure, `zone ${zone}: ${error.message}`, error.code, error);
}

function remedy({ failure, code }: DnsFault): string {
  const byCode = failure === 'refused' && code !== undefined ? remedies[code] : undefined;
  return (
    byCode ??
    'Nothing else is lost: repeat the request when the server is well; POST /services/dns sets up the one on this machine.'
  );
}

const keyRemedy =
  'The key of a server elsewhere is in table passwd, key omapi; POST /services/dns gives the server on this machine its key again.';

const remedies: Readonly<Record<number, string>> = {
  [rcode.refused]: 'The server must allow this key to change the zone (allow-update or update-policy).',
  [rcode.notauth]:
    'If the zone is new, make it with POST /services/dns first; a server elsewhere must have it already.',
  [rcode.badsig]: keyRemedy,
  [rcode.badkey]: keyRemedy,
};

/** An error of a file, such as a full disk, as one that the client understands; any other as it is. */
export function storageFault(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Fault) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) return error;
  const where = path === undefined ? 'The files of the DNS service' : path;
  return new Fault(
    'unavailable',
    `${where} cannot be written (${code}); what is served now goes on. Make room or correct the rights, and repeat the request.`,
    { cause: error },
  );
}
