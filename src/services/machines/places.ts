/** What is known of a machine on one hypervisor. */
export interface Sight {
  readonly uuid: string;
  readonly isOn: boolean;
  /** False: it was there. */
  readonly isThere: boolean;
}

/** A hypervisor as it was seen last. */
export interface HypervisorSight {
  /** The same for all names that one hypervisor has; undefined until it was connected to. */
  readonly id: string | undefined;
  readonly machines: ReadonlyMap<string, Sight>;
}

/**
 * Where a machine is that may have been moved: the hypervisor it is on, if that is not its home. Only the same machine counts, by its
 * UUID, and it must be clear: one that runs at home is at home, and of two places elsewhere none is taken.
 */
export function placeOf(
  name: string,
  home: string,
  uuid: string | undefined,
  sights: ReadonlyMap<string, HypervisorSight>,
): string | undefined {
  const house = sights.get(home);
  if (house?.id === undefined) return undefined;
  const atHome = house.machines.get(name);
  const itself = uuid ?? atHome?.uuid;
  if (itself === undefined || (atHome?.isThere && atHome.isOn)) return undefined;
  const elsewhere = [...sights].flatMap(([host, { id, machines }]) => {
    const sight = machines.get(name);
    return id !== house.id && sight?.isThere && sight.uuid === itself ? [{ host, id, isOn: sight.isOn }] : [];
  });
  const running = elsewhere.filter(({ isOn }) => isOn);
  const found = running.length > 0 || atHome?.isThere ? running : elsewhere;
  const [first] = found;
  return first && found.every(({ id }) => id === first.id) ? first.host : undefined;
}
