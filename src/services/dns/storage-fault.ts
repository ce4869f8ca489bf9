import { Fault } from '../../core/errors.ts';

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
