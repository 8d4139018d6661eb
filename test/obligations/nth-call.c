/*
 * Preloaded into processes: lets calls of the system fail, counted over all of them. What it is told stands in the
 * environment:
 *
 *   NTH_SHARED   a file of a page that all processes share: the count, and which call was the first to fail
 *   NTH_CALL     which one fails, from 1; 0 counts only
 *   NTH_ERROR    the error number; 0 makes reads and writes short instead
 *   NTH_LASTING  1: all from that one on
 *   NTH_FROM     counting begins when a path is opened that ends so
 *   NTH_AFTER    1: when that file is closed again
 *   NTH_WITHIN   only paths that begin so count, and what was opened there; without it everything does
 *   NTH_EXCEPT   calls that never fail, each between commas
 *   NTH_NOT      processes with this word among their arguments are left alone
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct shared {
  int has_begun;
  int count;
  int has_failed;
  char first[512];
};

static struct shared *shared;
static const char *from, *within, *except;
static int call, error_number, lasting, after, is_busy, awaited = -1;
static char ours[1024];

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

static int is_left_alone(void) {
  const char *word = getenv("NTH_NOT");
  if (!word || !*word) return 0;
  char arguments[4096];
  int file = syscall(SYS_open, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  long size = file < 0 ? 0 : syscall(SYS_read, file, arguments, sizeof arguments);
  if (file >= 0) syscall(SYS_close, file);
  return size > 0 && memmem(arguments, size, word, strlen(word)) != NULL;
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("NTH_SHARED");
  if (!path || is_left_alone()) return;
  from = getenv("NTH_FROM");
  if (from && !*from) from = NULL;
  within = getenv("NTH_WITHIN");
  except = getenv("NTH_EXCEPT");
  if (within && !*within) within = NULL;
  call = atoi(getenv("NTH_CALL") ?: "0");
  error_number = atoi(getenv("NTH_ERROR") ?: "0");
  lasting = atoi(getenv("NTH_LASTING") ?: "0");
  after = atoi(getenv("NTH_AFTER") ?: "0");
  int file = syscall(SYS_open, path, O_RDWR | O_CLOEXEC);
  if (file < 0) return;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (shared == MAP_FAILED) shared = NULL;
}

static int is_within(const char *path) { return !within || strncmp(path, within, strlen(within)) == 0; }

static int is_start(const char *path) {
  size_t length = strlen(path), end = from ? strlen(from) : 0;
  return shared && from && length >= end && strcmp(path + length - end, from) == 0;
}

/* Files stay known by their number as long as they are open. What has no type a runtime talks with itself through. */
static int is_ours(int file) {
  if (within) return file >= 0 && file < (int)sizeof ours && ours[file];
  struct stat facts;
  int saved = errno;
  int is_typed = syscall(SYS_fstat, file, &facts) != 0 || (facts.st_mode & S_IFMT) != 0;
  errno = saved;
  return is_typed;
}
static void note_file(int file, int is_one_of_ours) {
  if (file >= 0 && file < (int)sizeof ours) ours[file] = is_one_of_ours;
}

static int is_excepted(const char *name) {
  char word[64];
  snprintf(word, sizeof word, ",%s,", name);
  return except && strstr(except, word) != NULL;
}

/* What a call that touches no disk can answer at all. */
static int is_plausible(const char *name) {
  if (error_number == 0 || within) return 1;
  if (strcmp(name, "fork") == 0) return error_number == ENOMEM;
  if (strncmp(name, "fcntl", 5) == 0 || strncmp(name, "pipe", 4) == 0) return error_number == EMFILE;
  if (strcmp(name, "open") == 0 || strcmp(name, "open64") == 0) return error_number != EINTR;
  return 1;
}

/* What this call is to do: 0 what it always does, 1 fail, 2 less than was asked for. */
static int fate(const char *name, const char *path, int counts, int can_be_short) {
  if (!shared || !counts || is_busy || is_excepted(name)) return 0;
  /* Node's threads have work of their own, at times of their own. */
  if (syscall(SYS_gettid) != getpid()) return 0;
  if (from && !shared->has_begun) return 0;
  int number = __sync_add_and_fetch(&shared->count, 1);
  if (call == 0 || number < call || (number > call && !lasting)) return 0;
  if ((error_number == 0 && !can_be_short) || !is_plausible(name)) return 0;
  if (__sync_bool_compare_and_swap(&shared->has_failed, 0, 1)) {
    is_busy = 1;
    snprintf(shared->first, sizeof shared->first, "%s %s", name, path ? path : "");
    is_busy = 0;
  }
  errno = error_number;
  return error_number == 0 ? 2 : 1;
}

static int opening(const char *name, const char *path, int (*real)(const char *, int, ...), int flags, mode_t mode) {
  int counts = is_within(path), starts = is_start(path);
  if (starts && !after) shared->has_begun = 1;
  if (fate(name, path, counts, 0) == 1) return -1;
  int file = real(path, flags, mode);
  note_file(file, counts);
  if (starts && after) awaited = file;
  return file;
}

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    REAL(int, #name, const char *, int, ...); \
    va_list more; \
    va_start(more, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more); \
    return opening(#name, path, real, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define ON_PATH(type, none, name, parameters, arguments, ...) \
  type name parameters { \
    REAL(type, #name, __VA_ARGS__); \
    return fate(#name, path, is_within(path), 0) == 1 ? none : real arguments; \
  }
ON_PATH(int, -1, mkdir, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
ON_PATH(int, -1, rmdir, (const char *path), (path), const char *)
ON_PATH(int, -1, unlink, (const char *path), (path), const char *)
ON_PATH(int, -1, chmod, (const char *path, mode_t mode), (path, mode), const char *, mode_t)
ON_PATH(int, -1, chdir, (const char *path), (path), const char *)
ON_PATH(int, -1, access, (const char *path, int mode), (path, mode), const char *, int)
ON_PATH(int, -1, rename, (const char *path, const char *to), (path, to), const char *, const char *)
ON_PATH(int, -1, stat64, (const char *path, struct stat64 *into), (path, into), const char *, struct stat64 *)
ON_PATH(int, -1, lstat64, (const char *path, struct stat64 *into), (path, into), const char *, struct stat64 *)
ON_PATH(int, -1, faccessat, (int folder, const char *path, int mode, int flags), (folder, path, mode, flags), int,
        const char *, int, int)
ON_PATH(int, -1, utimensat, (int folder, const char *path, const struct timespec times[2], int flags),
        (folder, path, times, flags), int, const char *, const struct timespec *, int)
ON_PATH(DIR *, NULL, opendir, (const char *path), (path), const char *)
ON_PATH(int, -1, execve, (const char *path, char *const words[], char *const names[]), (path, words, names),
        const char *, char *const *, char *const *)

#define ON_FILE(type, name, can_be_short, shorter, parameters, arguments, ...) \
  type name parameters { \
    REAL(type, #name, __VA_ARGS__); \
    int found = fate(#name, NULL, is_ours(file), can_be_short); \
    if (found == 1) return -1; \
    if (found == 2) shorter; \
    return real arguments; \
  }
ON_FILE(ssize_t, read, size > 1, size = (size + 1) / 2, (int file, void *into, size_t size), (file, into, size), int,
        void *, size_t)
ON_FILE(ssize_t, write, size > 1, size = (size + 1) / 2, (int file, const void *bytes, size_t size),
        (file, bytes, size), int, const void *, size_t)
ON_FILE(ssize_t, pread64, size > 1, size = (size + 1) / 2, (int file, void *into, size_t size, off64_t at),
        (file, into, size, at), int, void *, size_t, off64_t)
ON_FILE(ssize_t, pwrite64, size > 1, size = (size + 1) / 2, (int file, const void *bytes, size_t size, off64_t at),
        (file, bytes, size, at), int, const void *, size_t, off64_t)
ON_FILE(ssize_t, writev, 0, (void)0, (int file, const struct iovec *parts, int count), (file, parts, count), int,
        const struct iovec *, int)
ON_FILE(ssize_t, copy_file_range, size > 1, size = (size + 1) / 2,
        (int file, off64_t *at, int to, off64_t *there, size_t size, unsigned flags),
        (file, at, to, there, size, flags), int, off64_t *, int, off64_t *, size_t, unsigned)
ON_FILE(int, fstat, 0, (void)0, (int file, struct stat *into), (file, into), int, struct stat *)
ON_FILE(int, fstat64, 0, (void)0, (int file, struct stat64 *into), (file, into), int, struct stat64 *)
ON_FILE(int, fsync, 0, (void)0, (int file), (file), int)
ON_FILE(int, futimens, 0, (void)0, (int file, const struct timespec times[2]), (file, times), int,
        const struct timespec *)

/* A file that could not be closed is closed all the same, as Linux does it. */
static int closing(int file, int done) {
  int found = fate("close", NULL, is_ours(file), 0);
  note_file(file, 0);
  if (shared && file == awaited) {
    shared->has_begun = 1;
    awaited = -1;
  }
  return found == 1 ? -1 : done;
}
int close(int file) {
  REAL(int, "close", int);
  return closing(file, real(file));
}

#define ALWAYS(type, name, parameters, arguments, ...) \
  type name parameters { \
    REAL(type, #name, __VA_ARGS__); \
    return fate(#name, NULL, !within, 0) == 1 ? -1 : real arguments; \
  }
ALWAYS(pid_t, fork, (void), (), void)
ALWAYS(int, dup2, (int file, int as), (file, as), int, int)
ALWAYS(int, pipe, (int ends[2]), (ends), int *)
ALWAYS(int, pipe2, (int ends[2], int flags), (ends, flags), int *, int)
ALWAYS(pid_t, wait3, (int *status, int options, struct rusage *used), (status, options, used), int *, int,
       struct rusage *)

#define FCNTL(name) \
  int name(int file, int command, ...) { \
    REAL(int, #name, int, int, ...); \
    va_list more; \
    va_start(more, command); \
    void *value = va_arg(more, void *); \
    va_end(more); \
    return fate(#name, NULL, !within, 0) == 1 ? -1 : real(file, command, value); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)

/* Node asks for some by their numbers. */
long syscall(long number, ...) {
  REAL(long, "syscall", long, ...);
  va_list more;
  va_start(more, number);
  long a = va_arg(more, long), b = va_arg(more, long), c = va_arg(more, long), d = va_arg(more, long),
       e = va_arg(more, long), f = va_arg(more, long);
  va_end(more);
  if (shared && !is_busy && number == SYS_statx) {
    const char *path = (const char *)b;
    int counts = path && *path ? is_within(path) : is_ours((int)a);
    if (fate("statx", path, counts, 0) == 1) return -1;
  }
  if (shared && !is_busy && number == SYS_close) return closing((int)a, (int)real(number, a));
  return real(number, a, b, c, d, e, f);
}
