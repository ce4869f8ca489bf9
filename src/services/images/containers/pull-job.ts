import type { Credentials } from '../../../protocols/oci/authorizer.ts';
import type { TreeLimits } from './tree-writer.ts';

/** What making an image from a container needs to know. */
export interface PullJob {
  readonly image: string;
  readonly by: string;
  readonly from: FromRegistry | FromFile;
  readonly osarch: string;
  /** Absent: as the container says. */
  readonly osvers?: string;
  readonly profile: string;
  readonly installDirectory: string;
  /** Where the image lies or is to lie, judged; absent: by osvers, osarch and profile below the install directory. */
  readonly directory?: string;
  /** Whether the tree is made anew even if it is the same. */
  readonly anew: boolean;
  /** Another image whose kernel is taken, if the container has none. */
  readonly kernel?: { readonly image: string; readonly directory: string };
  /** Where layers are kept, and the directories of all images, whose layers stay. */
  readonly blobs: string;
  readonly directories: readonly string[];
  readonly limits: TreeLimits;
}

export interface FromRegistry {
  readonly kind: 'registry';
  readonly reference: string;
  readonly registries: readonly string[];
  readonly insecureRegistries: readonly string[];
  readonly ca?: string;
  readonly credentials?: Credentials;
}

export interface FromFile {
  readonly kind: 'file';
  /** Judged. */
  readonly path: string;
  /** Which image of several. */
  readonly name?: string;
}

export interface Pulled {
  readonly did: 'nothing' | 'made';
  readonly image: string;
  readonly attributes: Readonly<Record<string, string>>;
}
