import { join } from 'node:path';
import { type CryptMethod, hashPassword, isCryptHash } from '../access/crypt.ts';
import type { SecretBox } from '../access/secrets.ts';
import type { Snapshot } from '../database/snapshot.ts';
import { isEnabled } from '../database/tables.ts';
import type { Remote } from '../nodes/index.ts';
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
   * has the same hash, so that packing twice gives the same bytes; without our key nobody can make a table of such hashes. The method
   * is that of the row (`cryptmethod`), else the one that is given, else the best there is.
   */
  async rootPassword(snapshot: Snapshot, image: string, method?: CryptMethod): Promise<string | undefined> {
    const row = [...snapshot.rows('passwd').values()].find(
      (each) => each['key'] === 'system' && each['username'] === 'root' && each['password'] && isEnabled(each),
    );
    if (!row) return undefined;
    const clear = this.#box.open(row['password']!, 'passwd.password');
    if (isCryptHash(clear)) return clear;
    const salt = Buffer.from(this.#box.mac(`image ${image} ${clear}`), 'hex').subarray(0, 16);
    return hashPassword(clear, salt, methodOf(row['cryptmethod']) ?? method);
  }
}

/** MD5, which the reference system has too, is no longer worth anything. */
function methodOf(name: string | undefined): CryptMethod | undefined {
  if (name === 'sha256') return 'sha256';
  return name === 'sha512' || name === 'md5' ? 'sha512' : undefined;
}
