import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Context } from './context.ts';
import { isNearlyFull } from './core/disk-full.ts';
import type { Metric } from './core/metrics.ts';

const lookEvery = 10_000;
interface Space {
  readonly place: string;
  readonly path: string;
  readonly free: number;
  readonly size: number;
}

/** The free space of the file systems that muster writes to. It is looked at now and then, since a disk elsewhere may take long to answer. */
export class DiskSpace {
  readonly #context: Context;
  readonly #timer: NodeJS.Timeout;
  #spaces: readonly Space[] = [];
  #isLooking = false;
  readonly #warned = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
    void this.#look();
    this.#timer = setInterval(() => void this.#look(), lookEvery).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  *metrics(): Iterable<Metric> {
    const of = (name: string, help: string, value: (space: Space) => number): Metric => ({
      name,
      type: 'gauge',
      help,
      samples: this.#spaces.map((space) => ({ labels: { place: space.place, path: space.path }, value: value(space) })),
    });
    yield of(
      'muster_disk_free_bytes',
      'Bytes that are free in the file systems that muster writes to.',
      ({ free }) => free,
    );
    yield of('muster_disk_size_bytes', 'Size of these file systems in bytes.', ({ size }) => size);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const spaces = await Promise.all(placesOf(this.#context).map(([place, path]) => spaceOf(place, path)));
    this.#spaces = spaces.filter((space) => space !== undefined);
    this.#isLooking = false;
    for (const space of this.#spaces) this.#warn(space);
  }

  /** Once, until there is enough free space again. */
  #warn({ place, path, free, size }: Space): void {
    if (!isNearlyFull(free, size)) this.#warned.delete(path);
    else if (!this.#warned.has(path)) {
      this.#warned.add(path);
      this.#context.log.warn(
        `The file system of ${path} (${place}) is ${free === 0 ? 'full' : `nearly full: ${free} of ${size} bytes are free`}. Delete files there, or make it larger.`,
      );
    }
  }
}

function placesOf({ config, images, store }: Context): (readonly [place: string, path: string])[] {
  const { data, logFile } = config;
  const installDirectory = images.paths.installDirectory(store.current);
  return [
    ['data', data],
    ...(logFile === undefined ? [] : [['log', dirname(logFile)] as const]),
    ...[installDirectory, ...(config.images.directories ?? [])].map((path) => ['images', path] as const),
  ];
}

/** Nothing of a directory that is not there. */
async function spaceOf(place: string, path: string): Promise<Space | undefined> {
  try {
    const { bavail, bsize, blocks } = await statfs(path);
    return { place, path, free: bavail * bsize, size: blocks * bsize };
  } catch {
    return undefined;
  }
}
