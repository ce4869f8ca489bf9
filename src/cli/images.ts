import { path } from './client.ts';
import { Refused } from './client-errors.ts';
import type { Invocation } from './invocation.ts';
import { errorLine } from './lines.ts';
import { longWork } from './long-work.ts';

/** Whether the image is defined; if not, it is told as the reference system does. */
export async function isDefined(
  { client, stderr }: Invocation,
  image: string,
  said = `Cannot find image '${image}' from the osimage table.`,
): Promise<boolean> {
  try {
    await client.get(path('osimages', image));
    return true;
  } catch (error) {
    if (!(error instanceof Refused) || error.isDenied) throw error;
    stderr.line(errorLine(said, client.server));
    return false;
  }
}

/** An action on an image that takes minutes. */
export async function workOnImage(
  invocation: Invocation,
  image: string,
  action: string,
  params: readonly Readonly<Record<string, string>>[] = [],
): Promise<number> {
  const body = { action, ...(params.length > 0 ? { params } : {}) };
  const ok = await longWork(invocation, path('osimages', image, 'instance'), body);
  return ok ? 0 : 1;
}
