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
