import { type Static, Type } from 'typebox';
import { schemaCheck } from '../../core/schema-check.ts';

const text = Type.String();

/** Who did something to an image, and when. */
const act = Type.Object({ when: text, by: text, run: text });
/** A file that an image was made from. */
const used = Type.Object({ path: text, sha256: text });
const part = Type.Object({ file: text, sha256: text, size: Type.Integer() });
export const installedPackage = Type.Object({ name: text, version: text, arch: text });

const pack = Type.Object({
  id: Type.String({ pattern: '^[0-9a-f]{16}$' }),
  method: text,
  compress: text,
  /** The root, and the kernel and the initial RAM disk that belong to it; they lie in `packs/ID` under these names. */
  parts: Type.Array(part),
  packages: Type.Integer(),
  lists: Type.Array(used),
  made: act,
});

const source = Type.Object({
  /** `found`: the tree was there before muster, which never removes it. */
  kind: Type.Enum(['packages', 'container', 'bundle', 'found']),
  lists: Type.Array(used),
  /** Says whether anything has changed since; see fingerprint.ts. */
  fingerprint: Type.Optional(text),
  /** What the tree was built from, for the next build. */
  recipe: Type.Optional(Type.Unknown()),
  reference: Type.Optional(text),
  /** Of a container: its own and those of its layers. */
  digest: Type.Optional(text),
  layers: Type.Optional(Type.Array(text)),
});

const manifest = Type.Object({
  image: text,
  osvers: text,
  osarch: text,
  profile: text,
  made: act,
  source,
  packages: Type.Array(installedPackage),
  runs: Type.Array(Type.Object({ command: Type.Array(text), made: act })),
  /** Files beside the manifest that muster made, such as `kernel`. */
  files: Type.Array(Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$' })),
  packs: Type.Array(pack),
  kernel: Type.Optional(text),
  /** The pack in use. */
  current: Type.Optional(text),
});

export const isManifest = schemaCheck(manifest).is;

export type Act = Static<typeof act>;
export type Used = Static<typeof used>;
export type Part = Static<typeof part>;
export type Pack = Static<typeof pack>;
export type InstalledPackage = Static<typeof installedPackage>;
export type Manifest = Static<typeof manifest>;
