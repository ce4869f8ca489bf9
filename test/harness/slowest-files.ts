import type { Reporter, TestModule } from 'vitest/node';

const shown = 20;

/** Prints where the time of a run went. */
export class SlowestFiles implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    if (modules.length <= shown) return;
    const times = modules.map((module) => {
      const { setupDuration, collectDuration, duration } = module.diagnostic();
      return { file: module.relativeModuleId, seconds: (setupDuration + collectDuration + duration) / 1_000 };
    });
    console.log(`\n The ${shown} slowest files`);
    for (const { file, seconds } of times.toSorted((a, b) => b.seconds - a.seconds).slice(0, shown))
      console.log(`${seconds.toFixed(1).padStart(8)} s  ${file}`);
  }
}
