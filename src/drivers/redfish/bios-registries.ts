import { Fault } from '../../core/errors.ts';
import {
  type AttributeRegistry,
  isRegistry,
  readRegistry,
  registryPlaces,
} from '../../protocols/redfish/attribute-registry.ts';
import { membersOf } from '../../protocols/redfish/collection.ts';
import type { RedfishService, Resource } from '../../protocols/redfish/client.ts';
import { linkAt, textAt } from '../../protocols/redfish/json.ts';

/** Registries and their settings that are kept. */
const mostKept = 32;
const mostKeptSettings = 40_000;

/** Which registry a machine has. Services of different models call different ones alike. */
export interface RegistryName {
  readonly name: string;
  readonly system: Resource;
}

/** A registry, and whether the machine's own service has just sent it. */
export interface KnownRegistry extends AttributeRegistry {
  readonly isFresh: boolean;
}

/** What machines of one model and firmware say of their settings: a megabyte or two, which is read once for all of them. */
export class BiosRegistries {
  /** The one used last is at the end. */
  readonly #kept = new Map<string, AttributeRegistry>();
  readonly #reading = new Map<string, Promise<unknown>>();

  /** As it is kept, else as the service has it; undefined if it has none that it shows. */
  async find(service: RedfishService, which: RegistryName, signal: AbortSignal): Promise<KnownRegistry | undefined> {
    const key = keyOf(which);
    const kept = (): KnownRegistry | undefined => {
      const registry = this.#kept.get(key);
      return registry && { ...registry, isFresh: false };
    };
    const known = kept();
    if (known) return known;
    // Whatever comes of another node's: then it is this one's turn.
    await this.#reading.get(key)?.catch(() => {});
    if (signal.aborted) throw new Fault('deadline', 'the command was ended before its BMC had answered.');
    return kept() ?? this.read(service, which, signal);
  }

  /** From the machine's own service: another one may lie, or have been in another state. */
  async read(service: RedfishService, which: RegistryName, signal: AbortSignal): Promise<KnownRegistry | undefined> {
    const key = keyOf(which);
    const reading = fetched(service, which.name, signal);
    if (!this.#reading.has(key)) {
      this.#reading.set(key, reading);
      void this.#forgetWhenDone(key, reading);
    }
    const found = await reading;
    if (found) this.#keep(key, found);
    return found && { ...found, isFresh: true };
  }

  async #forgetWhenDone(key: string, reading: Promise<unknown>): Promise<void> {
    await Promise.allSettled([reading]);
    if (this.#reading.get(key) === reading) this.#reading.delete(key);
  }

  #keep(key: string, registry: AttributeRegistry): void {
    this.#kept.delete(key);
    this.#kept.set(key, registry);
    let settings = this.#kept.values().reduce((sum, one) => sum + one.settings.size, 0);
    for (const [oldest, { settings: its }] of this.#kept) {
      if (this.#kept.size <= mostKept && settings <= mostKeptSettings) break;
      this.#kept.delete(oldest);
      settings -= its.size;
    }
  }
}

const keyOf = ({ name, system: { body } }: RegistryName): string =>
  JSON.stringify([name, ...['Manufacturer', 'Model', 'BiosVersion'].map((member) => textAt(body, member) ?? '')]);

/** The collection may have dozens of files: those that are called so come first. */
async function fetched(
  service: RedfishService,
  name: string,
  signal: AbortSignal,
): Promise<AttributeRegistry | undefined> {
  const { body } = await service.root(signal);
  const links = (await membersOf(service, linkAt(body, 'Registries'), signal)).flatMap((one) => linkAt(one) ?? []);
  const likely = links.filter((link) => /attribute/i.test(link) && /bios/i.test(link));
  const others = links.filter((link) => !likely.includes(link));
  for (const strictly of [true, false]) {
    for (const path of [...likely, ...(strictly ? [] : others)].slice(0, mostFiles)) {
      const file = await service.find(path, signal);
      if (!file || !isRegistry(file.body, name, strictly)) continue;
      for (const place of registryPlaces(file.body)) {
        const bytes = await service.document(place, signal);
        if (bytes) return readRegistry(bytes, `the registry of BIOS settings at ${place}`, signal);
      }
    }
  }
  return undefined;
}

const mostFiles = 200;
