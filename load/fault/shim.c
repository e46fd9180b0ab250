/* A library between a process and its files, preloaded (LD_PRELOAD): it makes calls fail, and keeps a journal of
 * everything that is written, from which power-cut.ts reconstructs the disk as a power cut would leave it. It only
 * sees files below FAULT_LAYER_ROOT.
 *
 * FAULT_LAYER_CONTROL names a file of rules (see `struct rule`, written by fault-layer.ts). It is mapped into
 * memory, so that rules change while the process runs. FAULT_LAYER_JOURNAL names the journal: one record for each
 * change, in the order of the changes. One lock covers a change and its record. A process that is killed between the
 * two has changed a file without a record: the journal then counts the change as not written. With a journal nothing
 * is really synced: the journal says what is on the disk, and a sync is a record in it. A sync takes as long as on a
 * disk, so that most deaths of a server that writes are between a write and its sync. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CREATE = 1, OPEN, WRITE, SYNC, TRUNCATE, RENAME, UNLINK, MKDIR, RMDIR };
enum { DURABLE = 1, FAILED = 2 };
enum { ON_WRITE, ON_SYNC, ON_READ, RULES };
#define FDS_MAX 65536
#define PIECES_MAX 1024
#define SYNC_US 3000

struct record {
  uint32_t magic;
  uint8_t op, flags;
  uint16_t path_bytes, path2_bytes, unused;
  uint32_t data_bytes;
  uint64_t ino, offset;
};

/* A rule is active where `error` or `bytes` is not 0, for paths that contain `name`: it lets `skip` calls pass, then
 * fires `times` times (0: for ever). With `bytes`, a call reads or writes at most that many. Otherwise the call
 * fails with `error`; or, if `dies` is not 0 and the call is a sync, the process is killed: before a file is synced,
 * or after a write that is durable by itself. A rule of syncs with `delay_us` makes each of them take that much longer. */
struct rule {
  uint32_t error, bytes, skip, times;
  uint32_t fired, dies, delay_us, unused;
  char name[32];
};

static struct rule no_rules[RULES], *rules = no_rules;
static const char *root;
static size_t root_bytes;
static int journal = -1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct { char *path; uint64_t ino, dev; int durable; } files[FDS_MAX];

#define REAL(name) ((__typeof__(&name))next(&real_##name, #name))
static void *real_open, *real_close, *real_pwrite, *real_write, *real_writev, *real_pwritev, *real_fsync, *real_fdatasync, *real_ftruncate;
static void *real_rename, *real_unlink, *real_mkdir, *real_rmdir, *real_read, *real_pread, *real_preadv;

static void *next(void **found, const char *name) { return *found ? *found : (*found = dlsym(RTLD_NEXT, name)); }

__attribute__((constructor)) static void start(void) {
  root = getenv("FAULT_LAYER_ROOT");
  root_bytes = root ? strlen(root) : 0;
  const char *journal_path = getenv("FAULT_LAYER_JOURNAL"), *control = getenv("FAULT_LAYER_CONTROL");
  if (journal_path) journal = REAL(open)(journal_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  int fd = control ? REAL(open)(control, O_RDWR | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *mapped = mmap(NULL, sizeof no_rules, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped != MAP_FAILED) rules = mapped;
  REAL(close)(fd);
}

static int is_ours(const char *path) {
  return root && path && strncmp(path, root, root_bytes) == 0 && (path[root_bytes] == '/' || path[root_bytes] == 0);
}

/* Node closes files without the C library, so a known descriptor may be that of a socket by now. */
static int is_tracked(int fd) {
  struct stat now;
  return fd >= 0 && fd < FDS_MAX && files[fd].path && fstat(fd, &now) == 0 && now.st_ino == files[fd].ino && now.st_dev == files[fd].dev;
}

/* Requires the lock, like all functions below. */
static void tell(int op, int flags, uint64_t ino, uint64_t offset, const char *path, const char *path2, const struct iovec *data, int pieces, size_t bytes) {
  if (journal < 0) return;
  struct record record = {0x4c4e524a, op, flags, path ? strlen(path) : 0, path2 ? strlen(path2) : 0, 0, bytes, ino, offset};
  struct iovec parts[PIECES_MAX + 3] = {{&record, sizeof record}, {(void *)path, record.path_bytes}, {(void *)path2, record.path2_bytes}};
  int count = 3;
  size_t left = bytes;
  for (int i = 0; i < pieces && left > 0; i++) {
    parts[count] = data[i];
    if (parts[count].iov_len > left) parts[count].iov_len = left;
    left -= parts[count++].iov_len;
  }
  if (REAL(writev)(journal, parts, count) < 0) abort();
}

static struct rule *firing(int kind, const char *path) {
  struct rule *rule = &rules[kind];
  if ((!rule->error && !rule->bytes) || (rule->name[0] && !strstr(path, rule->name))) return NULL;
  if (rule->skip > 0) return rule->skip--, NULL;
  if (rule->times > 0 && rule->fired >= rule->times) return NULL;
  rule->fired++;
  return rule;
}

static void die(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

static int opened(const char *path, int flags, int fd, int existed) {
  if (fd < 0 || fd >= FDS_MAX) return fd;
  struct stat found;
  fstat(fd, &found);
  free(files[fd].path);
  files[fd].path = strdup(path);
  files[fd].ino = found.st_ino;
  files[fd].dev = found.st_dev;
  files[fd].durable = (flags & (O_SYNC | O_DSYNC)) != 0;
  tell(existed ? OPEN : CREATE, 0, found.st_ino, 0, path, NULL, NULL, 0, 0);
  if (existed && (flags & O_TRUNC)) tell(TRUNCATE, 0, found.st_ino, 0, NULL, NULL, NULL, 0, 0);
  return fd;
}

static int open_file(const char *path, int flags, mode_t mode) {
  if (!is_ours(path)) return REAL(open)(path, flags, mode);
  pthread_mutex_lock(&lock);
  int existed = access(path, F_OK) == 0;
  int fd = opened(path, flags, REAL(open)(path, flags, mode), existed);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return fd;
}

#define OPEN_BY(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    return open_file(path, flags, mode); \
  }
OPEN_BY(open)
OPEN_BY(open64)

int close(int fd) {
  if (is_tracked(fd)) {
    pthread_mutex_lock(&lock);
    free(files[fd].path);
    files[fd].path = NULL;
    pthread_mutex_unlock(&lock);
  }
  return REAL(close)(fd);
}

/* `at` < 0 means the current offset of the file. */
static ssize_t change(int fd, const struct iovec *data, int pieces, off_t at) {
  off_t offset = at >= 0 ? at : lseek(fd, 0, SEEK_CUR);
  struct rule *rule = firing(ON_WRITE, files[fd].path);
  if (rule && !rule->bytes) return errno = rule->error, -1;
  struct iovec first = {data[0].iov_base, rule && rule->bytes < data[0].iov_len ? rule->bytes : data[0].iov_len};
  if (at >= 0 && lseek(fd, 0, SEEK_CUR) < 0) return -1;
  ssize_t done = at >= 0 ? REAL(pwritev)(fd, rule ? &first : data, rule ? 1 : pieces, at) : REAL(writev)(fd, rule ? &first : data, rule ? 1 : pieces);
  if (done <= 0) return done;
  struct rule *unsynced = files[fd].durable ? firing(ON_SYNC, files[fd].path) : NULL;
  tell(WRITE, files[fd].durable && !unsynced ? DURABLE : 0, files[fd].ino, offset, NULL, NULL, data, pieces, done);
  if (unsynced && unsynced->dies) die();
  if (unsynced) return tell(SYNC, FAILED, files[fd].ino, 0, NULL, NULL, NULL, 0, 0), errno = unsynced->error, -1;
  return done;
}

static void wait_for_disk(void) {
  if (rules[ON_SYNC].delay_us) usleep(rules[ON_SYNC].delay_us);
}

static ssize_t change_locked(int fd, const struct iovec *data, int pieces, off_t at) {
  if (files[fd].durable) wait_for_disk();
  pthread_mutex_lock(&lock);
  ssize_t done = change(fd, data, pieces, at);
  int error = errno;
  pthread_mutex_unlock(&lock);
  errno = error;
  return done;
}

ssize_t write(int fd, const void *data, size_t bytes) {
  struct iovec one = {(void *)data, bytes};
  return is_tracked(fd) ? change_locked(fd, &one, 1, -1) : REAL(write)(fd, data, bytes);
}
ssize_t writev(int fd, const struct iovec *data, int pieces) {
  return is_tracked(fd) && pieces > 0 ? change_locked(fd, data, pieces, -1) : REAL(writev)(fd, data, pieces);
}
#define PWRITE_BY(name) \
  ssize_t name(int fd, const void *data, size_t bytes, off_t at) { \
    struct iovec one = {(void *)data, bytes}; \
    return is_tracked(fd) ? change_locked(fd, &one, 1, at) : REAL(pwrite)(fd, data, bytes, at); \
  }
PWRITE_BY(pwrite)
PWRITE_BY(pwrite64)
#define PWRITEV_BY(name) \
  ssize_t name(int fd, const struct iovec *data, int pieces, off_t at) { \
    return is_tracked(fd) && pieces > 0 ? change_locked(fd, data, pieces, at) : REAL(pwritev)(fd, data, pieces, at); \
  }
PWRITEV_BY(pwritev)
PWRITEV_BY(pwritev64)

static int sync_file(int fd, int (*real)(int)) {
  if (!is_tracked(fd)) return real(fd);
  if (journal >= 0) usleep(SYNC_US);
  wait_for_disk();
  pthread_mutex_lock(&lock);
  struct rule *rule = firing(ON_SYNC, files[fd].path);
  if (rule && rule->dies) die();
  int done = rule || journal >= 0 ? 0 : real(fd);
  tell(SYNC, rule ? FAILED : 0, files[fd].ino, 0, NULL, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return rule ? (errno = rule->error, -1) : done;
}
int fsync(int fd) { return sync_file(fd, REAL(fsync)); }
int fdatasync(int fd) { return sync_file(fd, REAL(fdatasync)); }

static int truncate_to(int fd, off_t bytes) {
  if (!is_tracked(fd)) return REAL(ftruncate)(fd, bytes);
  pthread_mutex_lock(&lock);
  int done = REAL(ftruncate)(fd, bytes);
  if (done == 0) tell(TRUNCATE, 0, files[fd].ino, bytes, NULL, NULL, NULL, 0, 0);
  pthread_mutex_unlock(&lock);
  return done;
}
int ftruncate(int fd, off_t bytes) { return truncate_to(fd, bytes); }
int ftruncate64(int fd, off_t bytes) { return truncate_to(fd, bytes); }

#define NAMES_BY(call, op, path, path2) \
  if (!is_ours(path)) return call; \
  pthread_mutex_lock(&lock); \
  int done = call, error = errno; \
  if (done == 0) tell(op, 0, 0, 0, path, path2, NULL, 0, 0); \
  pthread_mutex_unlock(&lock); \
  return errno = error, done;
int rename(const char *from, const char *to) { NAMES_BY(REAL(rename)(from, to), RENAME, from, to) }
int unlink(const char *path) { NAMES_BY(REAL(unlink)(path), UNLINK, path, NULL) }
int mkdir(const char *path, mode_t mode) { NAMES_BY(REAL(mkdir)(path, mode), MKDIR, path, NULL) }
int rmdir(const char *path) { NAMES_BY(REAL(rmdir)(path), RMDIR, path, NULL) }

/* How many bytes a read may return; -1 if it has to fail. */
static ssize_t allowed(int fd, size_t bytes) {
  if (!is_tracked(fd)) return bytes;
  pthread_mutex_lock(&lock);
  struct rule *rule = firing(ON_READ, files[fd].path);
  pthread_mutex_unlock(&lock);
  if (!rule) return bytes;
  if (!rule->bytes) return errno = rule->error, -1;
  return rule->bytes < bytes ? rule->bytes : bytes;
}
ssize_t read(int fd, void *data, size_t bytes) {
  ssize_t may = allowed(fd, bytes);
  return may < 0 ? -1 : REAL(read)(fd, data, may);
}
#define PREAD_BY(name) \
  ssize_t name(int fd, void *data, size_t bytes, off_t at) { \
    ssize_t may = allowed(fd, bytes); \
    return may < 0 ? -1 : REAL(pread)(fd, data, may, at); \
  }
PREAD_BY(pread)
PREAD_BY(pread64)
#define PREADV_BY(name) \
  ssize_t name(int fd, const struct iovec *data, int pieces, off_t at) { \
    ssize_t may = pieces > 0 ? allowed(fd, data[0].iov_len) : 0; \
    struct iovec first = {pieces > 0 ? data[0].iov_base : NULL, may}; \
    if (may < 0) return -1; \
    return pieces > 0 && (size_t)may < data[0].iov_len ? REAL(preadv)(fd, &first, 1, at) : REAL(preadv)(fd, data, pieces, at); \
  }
PREADV_BY(preadv)
PREADV_BY(preadv64)
