"""Runs a command in a pseudo-terminal: python3 in-terminal.py COLUMNS ROWS COMMAND...

Standard input is typed into the terminal, standard output is all that the terminal shows. A line "\\0resize COLUMNS ROWS"
changes its size. Before the end, it prints on standard error whether the terminal echoes and reads whole lines again.
"""
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios


def resize(fd, columns, rows):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack('HHHH', rows, columns, 0, 0))


def modes(fd):
    flags = termios.tcgetattr(fd)[3]
    return {'echo': bool(flags & termios.ECHO), 'lines': bool(flags & termios.ICANON)}


columns, rows, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
master, slave = pty.openpty()
resize(master, columns, rows)
pid = os.fork()
if pid == 0:
    os.close(master)
    os.login_tty(slave) if hasattr(os, 'login_tty') else (
        os.setsid(), fcntl.ioctl(slave, termios.TIOCSCTTY, 0), [os.dup2(slave, n) for n in (0, 1, 2)])
    os.execvp(command[0], command)
status, typing = None, True
while status is None:
    readable, _, _ = select.select([master] + ([0] if typing else []), [], [], 0.1)
    if master in readable:
        os.write(1, os.read(master, 65536))
    if 0 in readable:
        typed = os.read(0, 4096)
        typing = typed != b''
        if typed.startswith(b'\0resize '):
            resize(master, *map(int, typed.split()[1:3]))
            os.kill(pid, signal.SIGWINCH)
        elif typing:
            os.write(master, typed)
    ended, code = os.waitpid(pid, os.WNOHANG)
    if ended:
        status = code
while select.select([master], [], [], 0.1)[0]:
    os.write(1, os.read(master, 65536))
json.dump({'exit': os.waitstatus_to_exitcode(status), **modes(slave)}, sys.stderr)
