import type { NodeValue } from '../core/results.ts';
import { type Finding, type PostureLevel, postureLevels } from '../drivers/index.ts';
import { onHardware, perNode } from './per-node.ts';

const worstOf = (findings: readonly Finding[]): PostureLevel =>
  postureLevels.findLast((level) => findings.some((finding) => finding.level === level)) ?? 'ok';

/** How well BMCs are protected and kept. */
export const posture = perNode({
  ...onHardware('posture', 'posture', {}, async (reader, _args, { signal }): Promise<NodeValue> => {
    const { firmware, findings: found } = await reader.read(signal);
    // The worst come first.
    const findings = found.toSorted((a, b) => postureLevels.indexOf(b.level) - postureLevels.indexOf(a.level));
    return {
      level: worstOf(findings),
      firmware,
      findings: findings.map(({ level, name, message }) => ({ level, name, message })),
    };
  }),
  line: () => [],
});
