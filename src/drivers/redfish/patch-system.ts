import { Refusal, type Resource } from '../../protocols/redfish/client.ts';
import { linkAt } from '../../protocols/redfish/json.ts';
import type { Target } from './target.ts';

/** Some services take changes only at the resource that holds settings for the next boot. Resolves with where it was changed. */
export async function patchSystem(
  target: Target,
  system: Resource,
  change: unknown,
  signal: AbortSignal,
): Promise<string> {
  const settings = linkAt(system.body, '@Redfish.Settings', 'SettingsObject');
  try {
    await target.service.patch(system, change, signal);
    return system.path;
  } catch (error) {
    if (!(error instanceof Refusal && error.ofRequest)) throw error;
    const pending = await target.service.find(settings, signal);
    if (!pending) throw error;
    await target.service.patch(pending, change, signal);
    return pending.path;
  }
}
