import type { Asker, Found } from '../rooms/found.ts';
import type { BootRoom } from '../rooms/room.ts';

/** Finds what a path leads to, for HTTP and TFTP alike. What no room has does not exist; a directory is nothing. */
export class BootCatalog {
  readonly #rooms: readonly BootRoom[];

  constructor(rooms: readonly BootRoom[]) {
    this.#rooms = rooms;
  }

  /** Undefined: there is nothing. A Fault `denied` is for those who may not have it. */
  async find(segments: readonly string[], asker: Asker): Promise<Found | undefined> {
    // In URLs the reference system's directory stands before what TFTP has at its root.
    const path = segments[0] === 'tftpboot' ? segments.slice(1) : segments;
    if (path.length === 0) return undefined;
    for (const room of this.#rooms) {
      const found = await room.find?.(path, asker);
      if (found) return found;
    }
    return undefined;
  }
}
