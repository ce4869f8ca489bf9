import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';
import { workerOf } from './subjects.ts';

/** Keys of subjects that are kept; each is made again when it is needed. */
const mostKeys = 16_384;
const cipher = 'aes-256-gcm';
const sealVersion = 1;
const [nonceSize, tagSize] = [12, 16];

const derived = (key: string | Uint8Array, label: string): Buffer => createHmac('sha256', key).update(label).digest();

/** What a worker seals its messages with. Servers make it from their own key, so they need to keep none. */
export const sealKeyOf = (serverSeed: string, worker: string): Buffer =>
  derived(serverSeed, `muster bus, messages of worker ${worker}`);

/**
 * Seals the messages between servers and workers, so that NATS can neither read nor make them. The key of a message follows from its
 * subject, which names the worker, its process, the server's process, the channel and the direction: a message counts nowhere else.
 */
export class Seals {
  readonly #keyOf: (worker: string) => Uint8Array | undefined;
  readonly #keys = new Map<string, Buffer>();

  /** Undefined: its messages are none of this process's business. */
  constructor(keyOf: (worker: string) => Uint8Array | undefined) {
    this.#keyOf = keyOf;
  }

  seal(subject: string, message: Uint8Array): Uint8Array {
    const key = this.#key(subject);
    if (!key) throw new Error(`There is no key for messages on ${subject}.`);
    const nonce = randomBytes(nonceSize);
    const sealer = createCipheriv(cipher, key, nonce);
    return Buffer.concat([Buffer.of(sealVersion), nonce, sealer.update(message), sealer.final(), sealer.getAuthTag()]);
  }

  /** Undefined: nobody who has the key made it for this subject. */
  open(subject: string, sealed: Uint8Array): Uint8Array | undefined {
    const key = this.#key(subject);
    if (!key || sealed.length < 1 + nonceSize + tagSize || sealed[0] !== sealVersion) return undefined;
    const opener = createDecipheriv(cipher, key, sealed.subarray(1, 1 + nonceSize));
    opener.setAuthTag(sealed.subarray(-tagSize));
    try {
      const message = opener.update(sealed.subarray(1 + nonceSize, -tagSize));
      opener.final();
      return message;
    } catch {
      return undefined;
    }
  }

  #key(subject: string): Buffer | undefined {
    const known = this.#keys.get(subject);
    if (known) return known;
    const worker = workerOf(subject);
    const base = worker === undefined ? undefined : this.#keyOf(worker);
    if (!base) return undefined;
    const key = derived(base, subject);
    if (this.#keys.size >= mostKeys) this.#keys.delete(this.#keys.keys().next().value!);
    this.#keys.set(subject, key);
    return key;
  }
}
