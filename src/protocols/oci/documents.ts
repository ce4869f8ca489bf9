import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { Fault } from '../../core/errors.ts';

/** No image has that many; each costs a request. */
const mostLayers = 1_000;
/** Of a manifest, an index or a configuration. */
export const mostDocumentBytes = 4 << 20;

const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
const Size = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

export const Descriptor = Type.Object({
  mediaType: Type.String({ maxLength: 255 }),
  digest: Digest,
  size: Size,
  platform: Type.Optional(
    Type.Object({
      os: Type.Optional(Type.String({ maxLength: 64 })),
      architecture: Type.Optional(Type.String({ maxLength: 64 })),
      variant: Type.Optional(Type.String({ maxLength: 64 })),
    }),
  ),
  annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
});
export type Descriptor = Static<typeof Descriptor>;

const Manifest = Type.Object({
  schemaVersion: Type.Literal(2),
  mediaType: Type.Optional(Type.String()),
  config: Descriptor,
  layers: Type.Array(Descriptor, { maxItems: mostLayers }),
});
export type Manifest = Static<typeof Manifest>;

const Index = Type.Object({
  schemaVersion: Type.Literal(2),
  mediaType: Type.Optional(Type.String()),
  manifests: Type.Array(Descriptor, { maxItems: 10_000 }),
});
export type Index = Static<typeof Index>;

const Configuration = Type.Object({
  architecture: Type.String({ minLength: 1, maxLength: 64 }),
  os: Type.String({ maxLength: 64 }),
  rootfs: Type.Object({ type: Type.Literal('layers'), diff_ids: Type.Array(Digest, { maxItems: mostLayers }) }),
});
export type Configuration = Static<typeof Configuration>;

const DockerArchive = Type.Array(
  Type.Object({
    Config: Type.String({ minLength: 1, maxLength: 1_024 }),
    RepoTags: Type.Optional(Type.Union([Type.Null(), Type.Array(Type.String({ maxLength: 1_024 }))])),
    Layers: Type.Array(Type.String({ minLength: 1, maxLength: 1_024 }), { maxItems: mostLayers }),
  }),
  { maxItems: 1_000 },
);
export type DockerArchive = Static<typeof DockerArchive>;

export const parseManifest = documentParser(Manifest, 'manifest');
export const parseIndex = documentParser(Index, 'index');
export const parseConfiguration = documentParser(Configuration, 'configuration');
export const parseDockerArchive = documentParser(DockerArchive, 'manifest.json');

/** `where`: of what, for sentences. */
function documentParser<S extends TSchema>(schema: S, what: string): (bytes: Buffer, where: string) => Static<S> {
  const checked = Compile(schema);
  return (bytes, where) => {
    const document = jsonOf(bytes, `The ${what} of ${where}`);
    const [problem] = checked.Errors(document);
    if (!problem) return document as Static<S>;
    const place = problem.instancePath.replaceAll('/', '.').slice(1) || 'it';
    throw new Fault('garbled', `The ${what} of ${where} is not valid: ${place} ${problem.message}.`);
  };
}

export function jsonOf(bytes: Buffer, what: string): unknown {
  if (bytes.length > mostDocumentBytes) throw new Fault('garbled', `${what} has more than ${mostDocumentBytes} bytes.`);
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw new Fault('garbled', `${what} is not JSON.`, { cause: error });
  }
}
