import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';

/** Who did something to an image, and when. */
const Act = Type.Object({ when: Type.String(), by: Type.String(), run: Type.String() });
/** A file that an image was made from. */
const Used = Type.Object({ path: Type.String(), sha256: Type.String() });
const Part = Type.Object({ file: Type.String(), sha256: Type.String(), size: Type.Integer() });
const InstalledPackage = Type.Object({ name: Type.String(), version: Type.String(), arch: Type.String() });

const Pack = Type.Object({
  id: Type.String({ pattern: /^[0-9a-f]{16}$/ }),
  method: Type.String(),
  compress: Type.String(),
  /** The root, and the kernel and the initial RAM disk that belong to it; they lie in `packs/ID` under these names. */
  parts: Type.Array(Part),
  packages: Type.Integer(),
  lists: Type.Array(Used),
  made: Act,
});

const Manifest = Type.Object({
  image: Type.String(),
  osvers: Type.String(),
  osarch: Type.String(),
  profile: Type.String(),
  made: Act,
  source: Type.Object({
    /** `found`: the tree was there before muster, which never removes it. */
    kind: Type.Enum(['packages', 'container', 'bundle', 'found']),
    lists: Type.Array(Used),
    /** Says whether anything has changed since; see fingerprint.ts. */
    fingerprint: Type.Optional(Type.String()),
    /** What the tree was built from, for the next build. */
    recipe: Type.Optional(Type.Unknown()),
    reference: Type.Optional(Type.String()),
    /** Of a container: its own and those of its layers. */
    digest: Type.Optional(Type.String()),
    layers: Type.Optional(Type.Array(Type.String())),
  }),
  packages: Type.Array(InstalledPackage),
  runs: Type.Array(Type.Object({ command: Type.Array(Type.String()), made: Act })),
  kernel: Type.Optional(Type.String()),
  /** Files beside the manifest that muster made, such as `kernel`. */
  files: Type.Array(Type.String({ pattern: /^[A-Za-z0-9][A-Za-z0-9._-]*$/ })),
  packs: Type.Array(Pack),
  /** The pack in use. */
  current: Type.Optional(Type.String()),
});

export type Act = Static<typeof Act>;
export type Used = Static<typeof Used>;
export type Part = Static<typeof Part>;
export type Pack = Static<typeof Pack>;
export type InstalledPackage = Static<typeof InstalledPackage>;
export type Manifest = Static<typeof Manifest>;

export const isManifest = (value: unknown): value is Manifest => Check(Manifest, value);
