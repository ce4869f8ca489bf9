/** Lines of a node's standard error in an error reply; thousands of nodes may have failed. */
const maximumComplaints = 100;

/** What a command printed on a node and how it ended. Kept as text: a line a piece would cost far more. */
export class NodeOutput {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | undefined;
  readonly signal: string | undefined;
  /** What there is to say besides, such as that output was cut. */
  readonly notes: readonly string[];

  constructor(parts: {
    readonly stdout: string;
    readonly stderr: string;
    readonly code?: number | undefined;
    readonly signal?: string | undefined;
    readonly notes?: readonly string[];
  }) {
    this.stdout = parts.stdout;
    this.stderr = parts.stderr;
    this.code = parts.code;
    this.signal = parts.signal;
    this.notes = parts.notes ?? [];
  }

  /** How much memory it needs, roughly, in bytes. */
  get size(): number {
    return this.notes.reduce((sum, note) => sum + note.length, this.stdout.length + this.stderr.length);
  }

  /** All of it as lines. */
  lines(): string[] {
    return [...linesOf(this.stdout), ...linesOf(this.stderr), ...this.notes];
  }

  /** What explains a failure: what went to standard error, else how the other output begins. */
  complaints(): string[] {
    const said = linesOf(this.stderr, maximumComplaints + 1);
    if (said.length === 0) return linesOf(this.stdout, 1);
    if (said.length <= maximumComplaints) return [...said, ...this.notes];
    return [...said.slice(0, maximumComplaints), 'there is more on standard error; the run shows all of it.'];
  }

  /** Both streams apart, as the lines of NDJSON and runs show them. */
  toJSON(): object {
    const { stdout, stderr, code, signal, notes } = this;
    return { stdout, stderr, code, signal, ...(notes.length > 0 ? { notes } : {}) };
  }
}

function linesOf(text: string, limit?: number): string[] {
  if (text === '') return [];
  // Line by line it would take several times as long, and a node may print a million of them.
  return withoutEnd(withoutEnd(text, '\n'), '\r').replaceAll('\r\n', '\n').split('\n', limit);
}

const withoutEnd = (text: string, end: string): string => (text.endsWith(end) ? text.slice(0, -end.length) : text);
