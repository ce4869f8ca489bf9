import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Context } from './context.ts';
import { isNearlyFull } from './core/disk-full.ts';
import type { Metric } from './core/metrics.ts';

const lookEvery = 10_000;
interface Room {
  readonly place: string;
  readonly path: string;
  readonly free: number;
  readonly size: number;
}

/** How much room the file systems have that muster writes to. It is looked at now and then, since a disk elsewhere may take long to answer. */
export class DiskRoom {
  readonly #context: Context;
  readonly #timer: NodeJS.Timeout;
  #rooms: readonly Room[] = [];
  #isLooking = false;
  readonly #told = new Set<string>();

  constructor(context: Context) {
    this.#context = context;
    void this.#look();
    this.#timer = setInterval(() => void this.#look(), lookEvery).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  *metrics(): Iterable<Metric> {
    const of = (name: string, help: string, value: (room: Room) => number): Metric => ({
      name,
      type: 'gauge',
      help,
      samples: this.#rooms.map((room) => ({ labels: { place: room.place, path: room.path }, value: value(room) })),
    });
    yield of('muster_disk_free_bytes', 'Room that is left where muster writes.', ({ free }) => free);
    yield of('muster_disk_size_bytes', 'Room that is there in all.', ({ size }) => size);
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const rooms = await Promise.all(placesOf(this.#context).map(([place, path]) => roomOf(place, path)));
    this.#rooms = rooms.filter((room) => room !== undefined);
    this.#isLooking = false;
    for (const room of this.#rooms) this.#tell(room);
  }

  /** Once, until there is room again. */
  #tell({ place, path, free, size }: Room): void {
    if (!isNearlyFull(free, size)) this.#told.delete(path);
    else if (!this.#told.has(path)) {
      this.#told.add(path);
      this.#context.log.warn(
        `The file system of ${path} (${place}) is ${free === 0 ? 'full' : `nearly full: ${free} of ${size} bytes are left`}. Make room there.`,
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

/** A directory that is not there takes no room. */
async function roomOf(place: string, path: string): Promise<Room | undefined> {
  try {
    const { bavail, bsize, blocks } = await statfs(path);
    return { place, path, free: bavail * bsize, size: blocks * bsize };
  } catch {
    return undefined;
  }
}
