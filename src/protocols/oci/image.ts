/** Files by name, in a directory or in an archive. */
export interface Bag {
  /** For sentences. */
  readonly where: string;
  /** Undefined if there is no such file; more than `most` bytes are a Fault. */
  read(name: string, most: number): Promise<Buffer | undefined>;
  /** Undefined if there is no such file. */
  sizeOf(name: string): Promise<number | undefined>;
  open(name: string, signal: AbortSignal): AsyncIterable<Buffer>;
  close(): Promise<void>;
}

/** How the tar of a layer is stored. */
export type Compression = 'none' | 'gzip' | 'zstd';

export interface Layer {
  /** For sentences. */
  readonly name: string;
  /** Of what is stored; undefined where only the digest of what it holds is known, as in docker archives. */
  readonly digest: string | undefined;
  readonly size: number | undefined;
  readonly compression: Compression;
  /** The digest of the tar. */
  readonly diffId: string;
  open(signal: AbortSignal): AsyncIterable<Buffer>;
}

/** An image that was found, whatever it lies in. */
export interface Image {
  /** Of its manifest; of a docker archive, of its configuration. */
  readonly digest: string;
  /** As images call it: amd64, arm64. */
  readonly architecture: string;
  readonly layers: readonly Layer[];
}

/** What is wanted of an image that exists for several kinds of machines. */
export interface Wanted {
  readonly architecture: string;
}
