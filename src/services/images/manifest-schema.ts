import {
  anything,
  integer,
  listOf,
  objectOf,
  objectWith,
  oneOf,
  type Shaped,
  text,
  textLike,
} from '../../core/shape.ts';

/** Who did something to an image, and when. */
const act = objectOf({ when: text, by: text, run: text });
/** A file that an image was made from. */
const used = objectOf({ path: text, sha256: text });
const part = objectOf({ file: text, sha256: text, size: integer });
export const installedPackage = objectOf({ name: text, version: text, arch: text });

const pack = objectOf({
  id: textLike(/^[0-9a-f]{16}$/),
  method: text,
  compress: text,
  /** The root, and the kernel and the initial RAM disk that belong to it; they lie in `packs/ID` under these names. */
  parts: listOf(part),
  packages: integer,
  lists: listOf(used),
  made: act,
});

const source = objectWith(
  {
    /** `found`: the tree was there before muster, which never removes it. */
    kind: oneOf('packages', 'container', 'bundle', 'found'),
    lists: listOf(used),
  },
  {
    /** Says whether anything has changed since; see fingerprint.ts. */
    fingerprint: text,
    /** What the tree was built from, for the next build. */
    recipe: anything,
    reference: text,
    /** Of a container: its own and those of its layers. */
    digest: text,
    layers: listOf(text),
  },
);

export const isManifest = objectWith(
  {
    image: text,
    osvers: text,
    osarch: text,
    profile: text,
    made: act,
    source,
    packages: listOf(installedPackage),
    runs: listOf(objectOf({ command: listOf(text), made: act })),
    /** Files beside the manifest that muster made, such as `kernel`. */
    files: listOf(textLike(/^[A-Za-z0-9][A-Za-z0-9._-]*$/)),
    packs: listOf(pack),
  },
  {
    kernel: text,
    /** The pack in use. */
    current: text,
  },
);

export type Act = Shaped<typeof act>;
export type Used = Shaped<typeof used>;
export type Part = Shaped<typeof part>;
export type Pack = Shaped<typeof pack>;
export type InstalledPackage = Shaped<typeof installedPackage>;
export type Manifest = Shaped<typeof isManifest>;
