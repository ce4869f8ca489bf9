import { Turns } from '../../core/turns.ts';
import { endOf } from './lease-times.ts';

/**
 * When firmware and boot loaders were given their IPv4 addresses. Kea appends a line to its file before it answers; theirs are known by
 * their lifetime, which no other lease has. Only what is new is read each time, since whoever fetches a boot script can ask.
 */
export class FirmwareLeases {
  readonly #file: string;
  readonly #turns = new Turns();
  /** Seconds since 1970, by address. */
  readonly #given = new Map<string, number>();
  #lifetime = 0;
  #inode = 0;
  #position = 0;

  constructor(file: string) {
    this.#file = file;
  }

  /** When the address was given last to firmware, whose leases have this lifetime. */
  async lastOf(address: string, lifetime: number): Promise<Date | undefined> {
    await this.#turns.take(() => this.#catchUp(lifetime));
    const seconds = this.#given.get(address);
    return seconds === undefined ? undefined : new Date(seconds * 1_000);
  }

  async #catchUp(lifetime: number): Promise<void> {
    let end = await endOf(this.#file, this.#position);
    if (!end) return;
    if (end.inode !== this.#inode || end.position < this.#position || lifetime !== this.#lifetime) {
      this.#lifetime = lifetime;
      this.#given.clear();
      // Kea begins a new file now and then, and gathers what was in the one before in those beside it.
      for (const older of ['.2', '.1']) this.#take((await endOf(this.#file + older))?.text ?? '');
      end = await endOf(this.#file);
      if (!end) return;
    }
    // The last line may not be written to its end.
    const whole = end.text.lastIndexOf('\n') + 1;
    this.#inode = end.inode;
    this.#position = end.position - (end.text.length - whole);
    this.#take(end.text.slice(0, whole));
  }

  #take(text: string): void {
    for (const line of text.split('\n')) {
      const [address = '', , , lifetime, expires = ''] = line.split(',');
      if (Number(lifetime) !== this.#lifetime || !/^\d+$/.test(expires)) continue;
      this.#given.set(address, Number(expires) - this.#lifetime);
    }
  }
}
