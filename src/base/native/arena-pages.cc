// Advises the operating system about pages of shared memory. Uses Node-API, so one build works with every Node version.
// adviseHugePages(view, bytes) allows huge pages from the first byte of the view on, for `bytes` of address space, which
// the memory may not have grown to yet. giveBack(view) discards the content of the view: it reads as zeros and takes no
// memory until it is written. Both return whether the system accepted the advice.
// memoryNodes() counts the memory nodes (NUMA) that this thread may use: 0 where the system does not tell.
// interleave(view, bytes) spreads the pages of as much address space over these nodes, as they are first written, and
// returns 0 or the error number. placement(view) returns the policy of the first page, for tests, or -1.
#include <node_api.h>
#ifdef __linux__
#include <cerrno>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

struct Span {
  void* start = nullptr;
  size_t bytes = 0;
};

static bool readSpan(napi_env env, napi_value view, Span* span) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, view, &type, &span->bytes, &span->start, nullptr, nullptr) == napi_ok && type == napi_uint8_array;
}

static bool readView(napi_env env, napi_callback_info info, Span* span) {
  size_t count = 1;
  napi_value given[1];
  return napi_get_cb_info(env, info, &count, given, nullptr, nullptr) == napi_ok && count == 1 && readSpan(env, given[0], span);
}

/** A view, and the bytes of address space from its start on. */
static bool readReserved(napi_env env, napi_callback_info info, Span* span) {
  size_t count = 2;
  napi_value given[2];
  double bytes = 0;
  if (napi_get_cb_info(env, info, &count, given, nullptr, nullptr) != napi_ok || count != 2 || !readSpan(env, given[0], span) ||
      napi_get_value_double(env, given[1], &bytes) != napi_ok)
    return false;
  span->bytes = static_cast<size_t>(bytes);
  return true;
}

static napi_value answer(napi_env env, bool isTaken) {
  napi_value taken;
  napi_get_boolean(env, isTaken, &taken);
  return taken;
}

static napi_value answer(napi_env env, int number) {
  napi_value made;
  napi_create_int32(env, number, &made);
  return made;
}

static napi_value adviseHugePages(napi_env env, napi_callback_info info) {
  Span span;
  bool isTaken = false;
  if (readReserved(env, info, &span)) {
#ifdef MADV_HUGEPAGE
    isTaken = madvise(span.start, span.bytes, MADV_HUGEPAGE) == 0;
#endif
  }
  return answer(env, isTaken);
}

static napi_value giveBack(napi_env env, napi_callback_info info) {
  Span span;
  bool isTaken = false;
  if (readView(env, info, &span)) {
#ifdef __linux__
    isTaken = madvise(span.start, span.bytes, MADV_DONTNEED) == 0;
#endif
  }
  return answer(env, isTaken);
}

#ifdef __linux__
/** As many as the largest kernels have. */
static const unsigned long NODES_MAX = 1024;
static const size_t NODES_PER_WORD = 8 * sizeof(unsigned long);

struct NodeMask {
  unsigned long words[NODES_MAX / NODES_PER_WORD] = {};
};

/** The nodes that this thread may take memory from. */
static bool readNodes(NodeMask* nodes) {
  return syscall(SYS_get_mempolicy, nullptr, nodes->words, NODES_MAX, nullptr, MPOL_F_MEMS_ALLOWED) == 0;
}
#endif

static napi_value memoryNodes(napi_env env, napi_callback_info) {
  int count = 0;
#ifdef __linux__
  NodeMask nodes;
  if (readNodes(&nodes))
    for (const unsigned long word : nodes.words) count += __builtin_popcountl(word);
#endif
  return answer(env, count);
}

static napi_value interleave(napi_env env, napi_callback_info info) {
  Span span;
  int error = -1;
  if (readReserved(env, info, &span)) {
#ifdef __linux__
    NodeMask nodes;
    const bool isDone = readNodes(&nodes) && syscall(SYS_mbind, span.start, span.bytes, MPOL_INTERLEAVE, nodes.words, NODES_MAX, 0) == 0;
    error = isDone ? 0 : errno;
#endif
  }
  return answer(env, error);
}

static napi_value placement(napi_env env, napi_callback_info info) {
  Span span;
  int policy = -1;
  if (readView(env, info, &span)) {
#ifdef __linux__
    if (syscall(SYS_get_mempolicy, &policy, nullptr, 0, span.start, MPOL_F_ADDR) != 0) policy = -1;
#endif
  }
  return answer(env, policy);
}

static bool define(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value made;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &made) == napi_ok && napi_set_named_property(env, exports, name, made) == napi_ok;
}

NAPI_MODULE_INIT() {
  define(env, exports, "adviseHugePages", adviseHugePages);
  define(env, exports, "giveBack", giveBack);
  define(env, exports, "memoryNodes", memoryNodes);
  define(env, exports, "interleave", interleave);
  define(env, exports, "placement", placement);
  return exports;
}
