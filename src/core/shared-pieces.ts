/** Pieces kept for those that come later: 32 MiB of those that are sent to nodes. */
const kept = 128;

/** Numbered pieces that many use, mostly one after another: each is made once for those who are about as far; who fell behind has it made again. */
export class SharedPieces {
  readonly #make: (index: number) => Promise<Buffer>;
  readonly #pieces = new Map<number, Promise<Buffer>>();
  #made = 0;

  constructor(make: (index: number) => Promise<Buffer>) {
    this.#make = make;
  }

  /** How many were made so far. */
  get made(): number {
    return this.#made;
  }

  /** Nobody may change it. */
  get(index: number): Promise<Buffer> {
    const known = this.#pieces.get(index);
    if (known) return known;
    if (this.#pieces.size >= kept) this.#pieces.delete(this.#pieces.keys().next().value!);
    this.#made++;
    const piece = this.#make(index);
    this.#pieces.set(index, piece);
    return piece;
  }

  clear(): void {
    this.#pieces.clear();
  }
}
