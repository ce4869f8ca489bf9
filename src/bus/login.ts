import { readFileSync } from 'node:fs';
import { Fault } from '../core/errors.ts';
import { sealKeyOf, Seals } from './seals.ts';

/** Who logs in to NATS: a server, or the worker of a name. */
export interface Login {
  /** Of the nkey. */
  readonly seed: string;
  readonly seals: Seals;
}

const seedLine = /^SU[A-Z2-7]{56}$/;
const sealLine = /^seal: ([A-Za-z0-9_-]{43})$/;

/** The file of a worker: its nkey, and the key of its messages. */
export const workerFile = (seed: string, sealKey: Uint8Array): string =>
  `${seed}\nseal: ${Buffer.from(sealKey).toString('base64url')}\n`;

/** Undefined: the text begins with no nkey. */
export function seedIn(text: string): string | undefined {
  const [seed = ''] = text.trim().split('\n');
  return seedLine.test(seed) ? seed : undefined;
}

/** Reads the file of a server, or of the worker that is named. */
export function readLogin(file: string, worker?: string): Login {
  const text = readOrRefuse(file, 'The key for NATS');
  const seed = seedIn(text);
  if (seed === undefined)
    throw new Fault(
      'invalid',
      `${file} does not hold the seed of an nkey. Make the keys with muster bus-config, and copy the file from there.`,
    );
  if (worker === undefined) return { seed, seals: new Seals((name) => sealKeyOf(seed, name)) };
  const key = sealLine.exec(text.trim().split('\n')[1] ?? '')?.[1];
  if (key === undefined)
    throw new Fault(
      'invalid',
      `${file} does not hold the key that messages are sealed with. Run muster bus-config on the server again, and copy the file of this worker from there.`,
    );
  const own = Buffer.from(key, 'base64url');
  return { seed, seals: new Seals((name) => (name === worker ? own : undefined)) };
}

export function readOrRefuse(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('invalid', [
      `${what} cannot be read: ${(error as Error).message}.`,
      'Make the files of the bus with muster bus-config on the server, and copy those of a worker to it.',
    ]);
  }
}
