/** What is offered at one path, by method. */
interface Place<Target> {
  /** With `:name` for segments: `/muster/nodes/:noderange/power`. */
  readonly path: string;
  readonly targets: Map<string, Target>;
}

interface Found<Target> {
  readonly place: Place<Target>;
  /** The path's segments by name, decoded. */
  readonly params: Record<string, string>;
}

/** A place, and what names the segments on the way to it. */
interface Leaf<Target> extends Place<Target> {
  readonly names: readonly string[];
}

interface Branch<Target> {
  readonly words: Map<string, Branch<Target>>;
  /** Any segment that is none of the words. */
  any: Branch<Target> | undefined;
  /** All segments that are left. */
  rest: Leaf<Target> | undefined;
  leaf: Leaf<Target> | undefined;
}

const newBranch = <Target>(): Branch<Target> => ({
  words: new Map(),
  any: undefined,
  rest: undefined,
  leaf: undefined,
});

/** Finds what is offered at a path. A word of a path goes before a name for any segment. */
export class Router<Target> {
  readonly #start = newBranch<Target>();

  /** With `:name` for any segment, and `*name` last for all that are left. */
  add(methods: readonly string[], path: string, target: Target): void {
    let branch = this.#start;
    const names: string[] = [];
    let rest = false;
    for (const segment of withoutSlash(path).slice(1).split('/')) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1));
        branch = branch.any ??= newBranch();
      } else if (segment.startsWith('*')) {
        names.push(segment.slice(1));
        rest = true;
      } else {
        let next = branch.words.get(segment);
        if (!next) branch.words.set(segment, (next = newBranch()));
        branch = next;
      }
    }
    const leaf = (branch[rest ? 'rest' : 'leaf'] ??= { path, names, targets: new Map() });
    for (const method of methods) {
      if (leaf.path !== path || leaf.targets.has(method)) throw new Error(`${method} ${path} is offered twice.`);
      leaf.targets.set(method, target);
    }
  }

  /** Undefined: there is nothing. */
  find(url: string): Found<Target> | 'unreadable' | undefined {
    const path = url.startsWith('/') ? withoutSlash(before('#', before('?', url))) : undefined;
    const isCoded = path?.includes('%') ?? false;
    if (path === undefined || (isCoded && !isReadable(path))) return 'unreadable';
    const values: string[] = [];
    const leaf = match(this.#start, path, isCoded, 1, values);
    if (!leaf) return undefined;
    const params: Record<string, string> = {};
    for (let i = 0; i < values.length; i++) params[leaf.names[i]!] = values[i]!;
    return { place: leaf, params };
  }
}

/** What the path's segments from a place on lead to. */
function match<Target>(
  branch: Branch<Target>,
  path: string,
  isCoded: boolean,
  from: number,
  values: string[],
): Leaf<Target> | undefined {
  if (from > path.length) return branch.leaf;
  const slash = path.indexOf('/', from);
  const end = slash < 0 ? path.length : slash;
  const text = path.slice(from, end);
  const segment = isCoded ? decodeURIComponent(text) : text;
  const word = branch.words.get(segment);
  const found = word && match(word, path, isCoded, end + 1, values);
  if (found) return found;
  if (branch.any) {
    const count = values.push(segment);
    const leaf = match(branch.any, path, isCoded, end + 1, values);
    if (leaf) return leaf;
    values.length = count - 1;
  }
  if (branch.rest) values.push(isCoded ? decodeURIComponent(path.slice(from)) : path.slice(from));
  return branch.rest;
}

/** One slash at the end makes no difference. */
const withoutSlash = (path: string): string => (path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path);

function before(mark: string, text: string): string {
  const at = text.indexOf(mark);
  return at < 0 ? text : text.slice(0, at);
}

/** Whether the path is the bytes of UTF-8 text. */
function isReadable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
