// Advises the operating system about pages of shared memory. Uses Node-API, so one build works with every Node version.
// adviseHugePages(view, bytes) allows huge pages from the first byte of the view on, for `bytes` of address space, which
// the memory may not have grown to yet. giveBack(view) discards the content of the view: it reads as zeros and takes no
// memory until it is written. Both return whether the system accepted the advice.
#include <node_api.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

struct Span {
  void* start = nullptr;
  size_t bytes = 0;
};

static bool readSpan(napi_env env, napi_value view, Span* span) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, view, &type, &span->bytes, &span->start, nullptr, nullptr) == napi_ok && type == napi_uint8_array;
}

static napi_value answer(napi_env env, bool isTaken) {
  napi_value taken;
  napi_get_boolean(env, isTaken, &taken);
  return taken;
}

static napi_value adviseHugePages(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value given[2];
  Span span;
  double bytes = 0;
  bool isTaken = false;
  if (napi_get_cb_info(env, info, &count, given, nullptr, nullptr) == napi_ok && count == 2 && readSpan(env, given[0], &span) &&
      napi_get_value_double(env, given[1], &bytes) == napi_ok) {
#ifdef MADV_HUGEPAGE
    isTaken = madvise(span.start, static_cast<size_t>(bytes), MADV_HUGEPAGE) == 0;
#endif
  }
  return answer(env, isTaken);
}

static napi_value giveBack(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given[1];
  Span span;
  bool isTaken = false;
  if (napi_get_cb_info(env, info, &count, given, nullptr, nullptr) == napi_ok && count == 1 && readSpan(env, given[0], &span)) {
#ifdef __linux__
    isTaken = madvise(span.start, span.bytes, MADV_DONTNEED) == 0;
#endif
  }
  return answer(env, isTaken);
}

static bool define(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value made;
  return napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &made) == napi_ok && napi_set_named_property(env, exports, name, made) == napi_ok;
}

NAPI_MODULE_INIT() {
  define(env, exports, "adviseHugePages", adviseHugePages);
  define(env, exports, "giveBack", giveBack);
  return exports;
}
