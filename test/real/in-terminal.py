"""Runs a program in a terminal of 170 columns and 55 lines: its output to stdout, stdin to its keyboard."""
import fcntl
import os
import pty
import select
import struct
import sys
import termios

pid, terminal = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 55, 170, 0, 0))
    os.execvp(sys.argv[1], sys.argv[1:])
watched = [terminal, 0]
while True:
    ready, _, _ = select.select(watched, [], [])
    if terminal in ready:
        try:
            data = os.read(terminal, 65536)
        except OSError:
            data = b""
        if not data:
            break
        os.write(1, data)
    if 0 in ready:
        keys = os.read(0, 65536)
        if keys:
            os.write(terminal, keys)
        else:
            watched.remove(0)
_, status = os.waitpid(pid, 0)
sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
