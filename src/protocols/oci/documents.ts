import { Fault } from '../../core/errors.ts';
import {
  count,
  listOf,
  nullOr,
  objectOf,
  objectWith,
  oneOf,
  recordOf,
  type Shape,
  type Shaped,
  text,
  textLike,
  textUpTo,
} from '../../core/shape.ts';

/** No image has that many; each costs a request. */
const mostLayers = 1_000;
/** Of a manifest, an index or a configuration. */
export const mostDocumentBytes = 4 << 20;

const digest = textLike(/^sha256:[0-9a-f]{64}$/);
/** Of a member of an archive. */
const path = textLike(/^[^]{1,1024}$/);

const descriptor = objectWith(
  { mediaType: textUpTo(255), digest, size: count },
  {
    platform: objectWith({}, { os: textUpTo(64), architecture: textUpTo(64), variant: textUpTo(64) }),
    annotations: recordOf(text),
  },
);
export type Descriptor = Shaped<typeof descriptor>;

const manifest = objectWith(
  { schemaVersion: oneOf(2), config: descriptor, layers: listOf(descriptor, mostLayers) },
  { mediaType: text },
);
export type Manifest = Shaped<typeof manifest>;

const index = objectWith({ schemaVersion: oneOf(2), manifests: listOf(descriptor, 10_000) }, { mediaType: text });
export type Index = Shaped<typeof index>;

const configuration = objectOf({
  architecture: textLike(/^[^]{1,64}$/),
  os: textUpTo(64),
  rootfs: objectOf({ type: oneOf('layers'), diff_ids: listOf(digest, mostLayers) }),
});
export type Configuration = Shaped<typeof configuration>;

const dockerArchive = listOf(
  objectWith({ Config: path, Layers: listOf(path, mostLayers) }, { RepoTags: nullOr(listOf(textUpTo(1_024))) }),
  1_000,
);
export type DockerArchive = Shaped<typeof dockerArchive>;

export const parseManifest = documentParser(manifest, 'manifest');
export const parseIndex = documentParser(index, 'index');
export const parseConfiguration = documentParser(configuration, 'configuration');
export const parseDockerArchive = documentParser(dockerArchive, 'manifest.json');

const longestPlace = 100;

/** `where`: of what, for sentences. */
function documentParser<T>(shape: Shape<T>, what: string): (bytes: Buffer, where: string) => T {
  return (bytes, where) => {
    const document = jsonOf(bytes, `The ${what} of ${where}`);
    const wrong: string[] = [];
    if (shape(document, wrong)) return document;
    const place = wrong.join('.').slice(0, longestPlace) || 'it';
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
