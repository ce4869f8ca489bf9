import { Fault } from '../../core/errors.ts';

/** Says of a failure what it was that failed. */
export async function telling<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    throw new Fault(error.kind, `${what}: ${error.message}`, { cause: error });
  }
}

/** Work on a file of this machine, whose failure is told with its path. */
export function reading<T>(path: string | Buffer, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (error instanceof Fault) throw error;
    throw new Fault('invalid', `${path.toString()} cannot be read: ${(error as Error).message}.`, { cause: error });
  });
}
