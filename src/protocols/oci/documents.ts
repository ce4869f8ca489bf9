import { type Static, type TSchema, Type } from 'typebox';
import { Fault } from '../../core/errors.ts';
import { schemaCheck } from '../../core/schema-check.ts';

/** No image has that many; each costs a request. */
const mostLayers = 1_000;
/** Of a manifest, an index or a configuration. */
export const mostDocumentBytes = 4 << 20;

const digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
/** Of a member of an archive. */
const path = Type.String({ minLength: 1, maxLength: 1024 });
const textUpTo = (maxLength: number) => Type.String({ maxLength });

const descriptor = Type.Object({
  mediaType: textUpTo(255),
  digest,
  size: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
  platform: Type.Optional(
    Type.Object({
      os: Type.Optional(textUpTo(64)),
      architecture: Type.Optional(textUpTo(64)),
      variant: Type.Optional(textUpTo(64)),
    }),
  ),
  annotations: Type.Optional(Type.Record(Type.String(), Type.String())),
});
export type Descriptor = Static<typeof descriptor>;

const manifest = Type.Object({
  schemaVersion: Type.Literal(2),
  mediaType: Type.Optional(Type.String()),
  config: descriptor,
  layers: Type.Array(descriptor, { maxItems: mostLayers }),
});
export type Manifest = Static<typeof manifest>;

const index = Type.Object({
  schemaVersion: Type.Literal(2),
  mediaType: Type.Optional(Type.String()),
  manifests: Type.Array(descriptor, { maxItems: 10_000 }),
});
export type Index = Static<typeof index>;

const configuration = Type.Object({
  architecture: Type.String({ minLength: 1, maxLength: 64 }),
  os: textUpTo(64),
  rootfs: Type.Object({ type: Type.Literal('layers'), diff_ids: Type.Array(digest, { maxItems: mostLayers }) }),
});
export type Configuration = Static<typeof configuration>;

const dockerArchive = Type.Array(
  Type.Object({
    Config: path,
    Layers: Type.Array(path, { maxItems: mostLayers }),
    RepoTags: Type.Optional(Type.Union([Type.Null(), Type.Array(textUpTo(1_024))])),
  }),
  { maxItems: 1_000 },
);
export type DockerArchive = Static<typeof dockerArchive>;

export const parseManifest = documentParser(manifest, 'manifest');
export const parseIndex = documentParser(index, 'index');
export const parseConfiguration = documentParser(configuration, 'configuration');
export const parseDockerArchive = documentParser(dockerArchive, 'manifest.json');

const longestPlace = 100;

/** `where`: of what, for sentences. */
function documentParser<S extends TSchema>(schema: S, what: string): (bytes: Buffer, where: string) => Static<S> {
  const check = schemaCheck(schema);
  return (bytes, where) => {
    const document = jsonOf(bytes, `The ${what} of ${where}`);
    if (check.is(document)) return document;
    const place = check.wrongAt(document).slice(0, longestPlace) || 'it';
    throw new Fault(
      'garbled',
      `The ${what} of ${where} is not valid: ${place} is missing, too long or of a form that muster does not read.`,
    );
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
