import { Fault } from '../../core/errors.ts';
import type { Credentials } from '../../protocols/oci/authorizer.ts';
import type { TreeLimits } from './tree-writer.ts';

/** What machines are called by the kernel and by container images. */
const architectures: Readonly<Record<string, string>> = {
  x86_64: 'amd64',
  aarch64: 'arm64',
  ppc64le: 'ppc64le',
  s390x: 's390x',
  riscv64: 'riscv64',
};

/** Of the machine this runs on. */
export const ownArchitecture = (): string =>
  ({ x64: 'x86_64', arm64: 'aarch64', ppc64: 'ppc64le' })[process.arch as string] ?? process.arch;

export function containerArchitecture(osarch: string): string {
  const found = Object.hasOwn(architectures, osarch) ? architectures[osarch] : undefined;
  if (found !== undefined) return found;
  throw new Fault(
    'invalid',
    `The architecture ${JSON.stringify(osarch)} is none of ${Object.keys(architectures).join(', ')}.`,
  );
}

/** What a request asks for besides the container. */
export interface PullOptions {
  readonly arch?: string | undefined;
  readonly osvers?: string | undefined;
  readonly profile?: string | undefined;
  readonly kernel?: string | undefined;
  readonly image?: string | undefined;
  readonly force?: boolean | undefined;
}

const texts = ['arch', 'osvers', 'profile', 'kernel', 'image'] as const;

/** For policies and the audit log. */
export const pullWords = (options: PullOptions): string[] => [
  ...texts.flatMap((key) => (options[key] === undefined ? [] : [`--${key}`, options[key]])),
  ...(options.force ? ['--force'] : []),
];

/** Whether a file is a container image, by its name: image.oci.tar, image.docker.tar, or a layout in the directory image.oci. */
export const isContainerFile = (path: string): boolean => /\.(oci|docker)(\.tar)?\/?$/.test(path);

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
  /** Whether the tree is made again even if it is the same. */
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

interface FromFile {
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
