/** Loaded into a server with --import: on SIGUSR2 it prints the longest delay of the event loop since the last time. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const delays = monitorEventLoopDelay({ resolution: 1 });
delays.enable();
process.on('SIGUSR2', () => {
  process.stderr.write(`longest delay ${(delays.max / 1e6).toFixed(2)} ms\n`);
  delays.reset();
});
