/** Images that a BMC shows its machine as if they were in a drive. */
export interface VirtualMedia {
  /** The drives that the BMC has, as they are now. Changes nothing. */
  list(own: OwnMedium | undefined, signal: AbortSignal): Promise<readonly MediaDrive[]>;
  /**
   * Puts an image into a drive for CDs and resolves with the drive when the BMC shows it there. Step by step:
   *
   * 1. It looks. A drive that has this image already is left as it is. What muster inserted before (`own`) is ejected. What somebody else
   *    has inserted stays: another drive is taken, or it is a Fault of kind `conflict` that names the image. Only `force` ejects it.
   * 2. `keep` is waited for with the drive. Only then is the image sent.
   * 3. After no answer, the drive is read: the image may be there.
   */
  insert(order: MediaOrder, signal: AbortSignal): Promise<MediaDrive>;
  /**
   * Takes images out, and resolves with the drives that were emptied when the BMC shows them empty; none: there was nothing to eject. What
   * muster has not inserted is a Fault of kind `conflict` that names it, unless `force`.
   */
  eject(order: MediaEjection, signal: AbortSignal): Promise<readonly MediaDrive[]>;
}

export interface MediaDrive {
  /** As the BMC calls it, and as people name it. */
  readonly id: string;
  /** CD, DVD, USBStick, Floppy; empty: it does not say. */
  readonly types: readonly string[];
  /** Where its image comes from, without what may open the address; undefined: it is empty, or the BMC does not say. */
  readonly image: string | undefined;
  readonly isInserted: boolean;
  /** muster has inserted it. */
  readonly isOwn: boolean;
}

/** What muster has inserted, or was about to insert. */
export interface OwnMedium {
  readonly drive: string;
  readonly url: string;
}

export interface MediaOrder {
  readonly url: string;
  readonly own: OwnMedium | undefined;
  /** Undefined: the first that is free. */
  readonly drive: string | undefined;
  readonly force: boolean;
  /** Resolves when it will be known even if this process is killed. */
  keep(drive: string): Promise<void>;
}

export interface MediaEjection {
  readonly own: OwnMedium | undefined;
  /** Undefined: what muster has inserted; with `force` whatever is inserted. */
  readonly drive: string | undefined;
  readonly force: boolean;
}

/** Where muster serves media: what stands behind it opens them, and is shown to nobody. */
export const mediaPath = 'boot/media';
const hiddenPart = new RegExp(String.raw`(/${mediaPath}/)[^/]+`);

/** The same of what a BMC says of its own accord, such as a line of its event log. */
export const withoutMediaAddress = (text: string): string =>
  text.replaceAll(new RegExp(String.raw`(/${mediaPath}/)[\w-]{20,}`, 'g'), '$1...');

/** An address of an image without what may open it. */
export function shownImage(address: string): string {
  const plain = address.replace(/^([a-z]+:\/\/)[^/@]*@/i, '$1').replace(/[?#].*$/s, '?...');
  return plain.replace(hiddenPart, '$1...');
}
