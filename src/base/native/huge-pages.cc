// adviseHugePages(view, bytes): asks the kernel for huge pages where a shared memory stands, from its first byte on, `bytes` of address
// space that it has or will grow to. Answers whether the kernel took the advice. Node-API, so one build serves every Node.
#include <node_api.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

static napi_value adviseHugePages(napi_env env, napi_callback_info info) {
  size_t count = 2;
  napi_value given[2], taken;
  void* start = nullptr;
  double bytes = 0;
  bool isTaken = false;
  if (napi_get_cb_info(env, info, &count, given, nullptr, nullptr) == napi_ok && count == 2 &&
      napi_get_typedarray_info(env, given[0], nullptr, nullptr, &start, nullptr, nullptr) == napi_ok &&
      napi_get_value_double(env, given[1], &bytes) == napi_ok) {
#ifdef MADV_HUGEPAGE
    isTaken = madvise(start, static_cast<size_t>(bytes), MADV_HUGEPAGE) == 0;
#endif
  }
  napi_get_boolean(env, isTaken, &taken);
  return taken;
}

NAPI_MODULE_INIT() {
  napi_value call;
  return napi_create_function(env, "adviseHugePages", NAPI_AUTO_LENGTH, adviseHugePages, nullptr, &call) == napi_ok ? call : exports;
}
