import { Type } from 'typebox';
import type { Logger } from '../../core/log.ts';
import { bodyReader } from '../../database/record-bodies.ts';
import type { Servers } from '../../database/servers.ts';
import type { SharedRecords } from '../../database/shared-records.ts';

const kind = 'media';
/** A year: media stay until somebody ejects them. */
const kept = 365 * 86_400_000;
/** More than a server has. */
const most = 200_000;

const File = Type.Object({ path: Type.String(), size: Type.Number(), changed: Type.Number() });

const members = Type.Object({
  id: Type.String(),
  node: Type.String(),
  /** As the BMC gets it. */
  url: Type.String(),
  /** Absent: nothing was sent yet. */
  drive: Type.Optional(Type.String()),
  /** For people. */
  what: Type.String(),
  user: Type.String(),
  /** ISO times. Ejected when the node runs what is on it, or at the latest `until`; without, when somebody says so. */
  since: Type.String(),
  until: Type.Optional(Type.String()),
  /** A file of this server. */
  file: Type.Optional(Type.String()),
  /** A medium that is made; the script is sealed. */
  parts: Type.Optional(Type.Object({ arch: Type.String(), kernel: File, initrd: File, sealed: Type.String() })),
  /** It is to be ejected, whatever the node does. */
  isOver: Type.Optional(Type.Boolean()),
  server: Type.String(),
  data: Type.String(),
});

/** A medium that a BMC has, or is about to get. There is one for a node. */
export type MediaRecord = Type.Static<typeof members>;
const read = bodyReader<MediaRecord>(members);

interface Parts {
  readonly shared: SharedRecords;
  readonly servers: Pick<Servers, 'id' | 'name'>;
  readonly data: string;
  readonly log: Logger;
}

/** What BMCs have of muster, as all servers know it. */
export class MediaRecords {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** By whom a medium is served. */
  get place(): Pick<MediaRecord, 'server' | 'data'> {
    return { server: this.#parts.servers.name, data: this.#parts.data };
  }

  async of(node: string): Promise<MediaRecord | undefined> {
    const record = await this.#parts.shared.get(kind, node);
    return record && read(record, this.#parts.log);
  }

  /** Those of this server, which serves them. */
  async own(): Promise<readonly MediaRecord[]> {
    const { shared, log } = this.#parts;
    const { server, data } = this.place;
    const found = await shared.list({ kind, limit: most });
    return found
      .flatMap((record) => read(record, log) ?? [])
      .filter((record) => record.server === server && record.data === data);
  }

  put(record: MediaRecord): Promise<void> {
    const { shared, servers } = this.#parts;
    return shared.put([{ kind, name: record.node, holder: servers.id, body: JSON.stringify(record) }], kept);
  }

  /** Unless the node has another one by now. */
  async remove({ node, id }: Pick<MediaRecord, 'node' | 'id'>): Promise<void> {
    if ((await this.of(node))?.id === id) await this.#parts.shared.remove(kind, [node]);
  }
}
