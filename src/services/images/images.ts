import { join } from 'node:path';
import { hashPassword, isCryptHash } from '../../access/crypt.ts';
import type { SecretBox } from '../../access/secrets.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import type { Remote } from '../remote/remote.ts';
import { Containers } from './containers/containers.ts';
import { ImagePaths } from './paths.ts';
import type { ImageSettings } from './settings.ts';

/** What commands on images are prepared with. */
export class Images {
  readonly keptPacks: number;
  readonly paths: ImagePaths;
  readonly containers: Containers;
  /** Where the ramdisks of machines without an image lie, a directory for each architecture. */
  readonly ramdisks: string;
  /** The line by which muster may log in to nodes. */
  readonly publicKey: string;
  readonly #box: SecretBox;

  constructor(settings: ImageSettings, { data, box, remote }: { data: string; box: SecretBox; remote: Remote }) {
    this.keptPacks = settings.keptPacks;
    this.paths = new ImagePaths(settings.directories ?? [], data, remote.sources);
    this.containers = new Containers(settings, { data, box });
    this.ramdisks = join(data, 'ramdisk');
    this.publicKey = remote.publicKey;
    this.#box = box;
  }

  /**
   * The hash of root's password on nodes, from table passwd, key system; undefined if none is set. The same password of the same image
   * has the same hash, so that packing twice gives the same bytes; without our key nobody can make a table of such hashes.
   */
  async rootPassword(snapshot: Snapshot, image: string): Promise<string | undefined> {
    const row = [...snapshot.rows('passwd').values()].find(
      (each) => each['key'] === 'system' && each['username'] === 'root' && each['password'] && isEnabled(each),
    );
    if (!row) return undefined;
    const clear = this.#box.open(row['password']!, 'passwd.password');
    if (isCryptHash(clear)) return clear;
    return hashPassword(clear, Buffer.from(this.#box.mac(`image ${image} ${clear}`), 'hex').subarray(0, 16));
  }
}
