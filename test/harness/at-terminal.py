"""Runs a program at a pseudo-terminal: waits for each text, then types the answer. Prints all it wrote, and ends as it did."""
import fcntl
import json
import os
import pty
import select
import struct
import sys
import termios

task = json.loads(sys.argv[1])
pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, task["columns"], 0, 0))
    os.execvpe(task["argv"][0], task["argv"], task["env"])
seen, from_here = b"", 0
steps = list(task["steps"])
while True:
    if steps and steps[0][0].encode() in seen[from_here:]:
        expected, answer = steps.pop(0)
        from_here = seen.index(expected.encode(), from_here) + len(expected.encode())
        os.write(terminal, answer.encode())
    readable, _, _ = select.select([terminal], [], [], 60)
    if not readable:
        os.kill(pid, 9)
        break
    try:
        chunk = os.read(terminal, task["pieces"])
    except OSError:
        break
    if not chunk:
        break
    seen += chunk
_, status = os.waitpid(pid, 0)
os.write(1, seen)
if steps:
    os.write(2, ("never seen: " + steps[0][0]).encode())
sys.exit(os.waitstatus_to_exitcode(status) & 255)
