/**
 * Ends the process groups that the same sshd process has started. sshd hands no signals to what root runs, so a second session of
 * the connection has to. `exec` makes sshd its parent whatever the user's shell is, and one line is what every shell can quote.
 */
export const killCommand = `exec sh -c '${[
  'others() { for p in $(cat /proc/$PPID/task/$PPID/children); do [ $p = $$ ] || echo $p; done; }',
  'for p in $(others); do kill -TERM -$p; done',
  'sleep 1',
  'for p in $(others); do kill -KILL -$p; done',
].join('; ')}'`;

/** Milliseconds that it may take. */
export const killTimeout = 5_000;
