import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** Writes which files failed to where `npm test` reads it. */
export class FailedFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const place = process.env['MUSTER_FAILED_FILES'];
    if (place === undefined) return;
    const files = modules.filter((module) => !module.ok()).map((module) => module.relativeModuleId);
    writeFileSync(place, [...new Set(files)].join('\n'));
  }
}
