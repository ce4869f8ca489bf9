import { createHash, type Hash } from 'node:crypto';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Fault } from '../../core/errors.ts';
import type { Compression, Layer } from '../../protocols/oci/image.ts';
import { TarError } from '../../core/tar/header.ts';
import { TarReader } from '../../core/tar/reader.ts';
import { shown, type TreeWriter } from './tree-writer.ts';

/** Large enough that few turns of the event loop are needed, small enough to stay in the processor's cache. */
const chunkSize = 256 * 1024;

export interface LayerWatch {
  readonly signal: AbortSignal;
  /** Bytes of the layer, as it is stored, that were applied. */
  passed(bytes: number): void;
}

/**
 * Applies a layer to the tree. It is decompressed by other threads while files are written here; digest and size of what is stored and
 * the digest of what it holds are known at the end only, so a tree is nothing before all its layers were applied.
 */
export async function applyLayer(layer: Layer, tree: TreeWriter, { signal, passed }: LayerWatch): Promise<void> {
  const stored = createHash('sha256');
  const plain = createHash('sha256');
  const reader = new TarReader(tree);
  let size = 0;
  async function* counted(): AsyncIterable<Buffer> {
    for await (const chunk of layer.open(signal)) {
      size += chunk.length;
      if (layer.size !== undefined && size > layer.size) throw sizeFault(layer);
      if (layer.digest !== undefined) stored.update(chunk);
      passed(chunk.length);
      yield chunk;
    }
  }
  const consume = async (chunks: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of chunks) {
      tree.countRead(chunk.length);
      plain.update(chunk);
      reader.push(chunk);
    }
    reader.finish();
  };
  tree.beginLayer();
  try {
    if (layer.compression === 'none') await consume(counted());
    else await pipeline(counted(), decompressor(layer.compression), consume, { signal });
  } catch (error) {
    signal.throwIfAborted();
    throw layerFault(layer, error);
  } finally {
    tree.abandon();
  }
  if (layer.size !== undefined && size !== layer.size) throw sizeFault(layer);
  check(layer, stored, layer.digest, 'is not what its digest says');
  check(layer, plain, layer.diffId, 'holds something else than the image states (diff_id)');
}

function decompressor(compression: Exclude<Compression, 'none'>): NodeJS.ReadWriteStream & Readable {
  const options = { chunkSize, highWaterMark: 4 * chunkSize };
  return compression === 'gzip' ? createGunzip(options) : createZstdDecompress(options);
}

function check(layer: Layer, hash: Hash, expected: string | undefined, problem: string): void {
  if (expected !== undefined && `sha256:${hash.digest('hex')}` !== expected)
    throw new Fault('garbled', `${layer.name} ${problem}.`);
}

const sizeFault = (layer: Layer): Fault =>
  new Fault('garbled', `${layer.name} does not have the size that the image states, ${layer.size} bytes.`);

const outOfSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

function layerFault(layer: Layer, error: unknown): Fault {
  if (error instanceof Fault) return error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  if (error instanceof TarError) return new Fault('garbled', `${layer.name} is refused: ${message}.`, { cause: error });
  if (outOfSpace.has(code)) {
    return new Fault(
      'unavailable',
      `There is no space left for the image, at ${layer.name}: free some space and try again.`,
      {
        cause: error,
      },
    );
  }
  if (code.startsWith('Z_') || code.startsWith('ZSTD_') || code.startsWith('ERR_ZSTD'))
    return new Fault('garbled', `${layer.name} cannot be decompressed: ${message}.`, { cause: error });
  return new Fault('invalid', `${layer.name} cannot be applied: ${shown(message)}.`, { cause: error });
}
