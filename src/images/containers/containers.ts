import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SecretBox } from '../../access/secrets.ts';
import { Fault } from '../../core/errors.ts';
import type { Snapshot } from '../../database/snapshot.ts';
import { isEnabled } from '../../database/tables.ts';
import type { Credentials } from '../../protocols/oci/authorizer.ts';
import { parseReference } from '../../protocols/oci/reference.ts';
import type { ImageSettings } from '../settings.ts';
import type { FromRegistry } from './pull-job.ts';
import type { TreeLimits } from './tree-writer.ts';

/** What is remembered of each takes memory. */
const mostEntries = 2_000_000;

/** What making images of containers is prepared with. */
export class Containers {
  /** Where layers are kept. */
  readonly blobs: string;
  readonly limits: TreeLimits;
  readonly #settings: ImageSettings;
  readonly #box: SecretBox;

  constructor(settings: ImageSettings, { data, box }: { data: string; box: SecretBox }) {
    this.blobs = settings.blobs ?? join(data, 'blobs');
    this.limits = { bytes: settings.largestContainer, entries: mostEntries };
    this.#settings = settings;
    this.#box = box;
  }

  /** How a registry is asked for an image, with the login that was given or that is kept for it. */
  registry(snapshot: Snapshot, text: string, given: Credentials | undefined): FromRegistry {
    const { registry } = parseReference(text);
    const { registries, insecureRegistries = [], registryCa } = this.#settings;
    if (registries && ![...registries, ...insecureRegistries].includes(registry))
      throw new Fault(
        'invalid',
        `Images are not pulled from ${registry}: the setting images.registries allows only ${registries.join(', ')}.`,
      );
    const credentials = given ?? this.#kept(snapshot, registry);
    return {
      kind: 'registry',
      reference: text,
      registries: registries ?? [],
      insecureRegistries,
      ...(registryCa === undefined ? {} : { ca: readAuthority(registryCa) }),
      ...(credentials === undefined ? {} : { credentials }),
    };
  }

  /** The passwd row with key `registry:HOST[:PORT]`. */
  #kept(snapshot: Snapshot, registry: string): Credentials | undefined {
    const row = [...snapshot.rows('passwd').values()].find(
      (each) => each['key'] === `registry:${registry}` && each['username'] && each['password'] && isEnabled(each),
    );
    if (!row) return undefined;
    return { username: row['username']!, password: this.#box.open(row['password']!, 'passwd.password') };
  }
}

function readAuthority(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Fault('unavailable', `${file} (setting images.registryCa) cannot be read: ${(error as Error).message}.`, {
      cause: error,
    });
  }
}
