import { Fault } from '../../../core/errors.ts';
import { TarError } from '../../../protocols/tar/entry.ts';
import { TarReader } from '../../../protocols/tar/reader.ts';
import { bundleFile, longestBundleFile, parseBundle } from './bundle.ts';
import { bytesOf } from './unpack.ts';

/** The image that a file is a bundle of, by its first member; undefined if muster did not write it. */
export async function imageOfBundle(file: string): Promise<string | undefined> {
  try {
    return parseBundle(await firstMember(file), file).image;
  } catch (error) {
    if (error instanceof Fault || error instanceof TarError) return undefined;
    throw error;
  }
}

async function firstMember(file: string): Promise<string> {
  const chunks: Buffer[] = [];
  let members = 0;
  let isWhole = false;
  const reader = new TarReader({
    entry({ path, size }) {
      if (++members === 1 && (path !== bundleFile || size > longestBundleFile))
        throw new TarError(`it does not begin with ${bundleFile}`);
    },
    data: (bytes) => void (members === 1 && chunks.push(Buffer.from(bytes))),
    end: () => void (isWhole = true),
  });
  for await (const chunk of bytesOf(file)) {
    reader.push(chunk);
    if (isWhole) break;
  }
  return Buffer.concat(chunks).toString();
}
