// What Node lacks for threads that serve sockets. Uses Node-API and libuv, so one build works with every Node version.
// cpuMs() returns the CPU time of the calling thread in milliseconds, or -1. duplicate(fd) returns another descriptor of
// the same socket, or -1. closeSocketsAtExit() lets the calling thread close the sockets that it still polls when it
// ends: uWebSockets.js leaves them open if a thread dies, and Node then aborts the process because the event loop of the
// thread has open handles. It must be called before uWebSockets.js is loaded, so that it runs after the cleanup of the
// library. stopSockets() makes the calling thread receive nothing from its sockets any more: a thread that ends cannot
// call JavaScript, and uWebSockets.js aborts the process when it cannot pass on a request that arrives at that moment.
#include <node_api.h>
#include <uv.h>
#ifndef _WIN32
#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#endif

static void closePoll(uv_handle_t* handle, void*) {
  if (uv_handle_get_type(handle) != UV_POLL || uv_is_closing(handle)) return;
  uv_os_fd_t socket;
  bool isOpen = uv_fileno(handle, &socket) == 0;
  uv_close(handle, nullptr);
#ifndef _WIN32
  if (isOpen) close(socket);
#endif
}

static void stopPoll(uv_handle_t* handle, void*) {
  if (uv_handle_get_type(handle) == UV_POLL && !uv_is_closing(handle)) uv_poll_stop(reinterpret_cast<uv_poll_t*>(handle));
}

static napi_value stopSockets(napi_env env, napi_callback_info) {
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) == napi_ok) uv_walk(loop, stopPoll, nullptr);
  return nullptr;
}

static void closePolls(void* loop) {
  uv_walk(static_cast<uv_loop_t*>(loop), closePoll, nullptr);
}

static napi_value closeSocketsAtExit(napi_env env, napi_callback_info) {
  uv_loop_t* loop = nullptr;
  if (napi_get_uv_event_loop(env, &loop) == napi_ok) napi_add_env_cleanup_hook(env, closePolls, loop);
  return nullptr;
}

static napi_value cpuMs(napi_env env, napi_callback_info) {
  double ms = -1;
#ifdef CLOCK_THREAD_CPUTIME_ID
  timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0) ms = now.tv_sec * 1e3 + now.tv_nsec / 1e6;
#endif
  napi_value answer;
  napi_create_double(env, ms, &answer);
  return answer;
}

static napi_value duplicate(napi_env env, napi_callback_info info) {
  size_t count = 1;
  napi_value given[1];
  int32_t socket = -1;
  int32_t copy = -1;
#ifndef _WIN32
  if (napi_get_cb_info(env, info, &count, given, nullptr, nullptr) == napi_ok && count == 1 &&
      napi_get_value_int32(env, given[0], &socket) == napi_ok)
    copy = fcntl(socket, F_DUPFD_CLOEXEC, 3);
#endif
  napi_value answer;
  napi_create_int32(env, copy, &answer);
  return answer;
}

static void define(napi_env env, napi_value exports, const char* name, napi_callback call) {
  napi_value made;
  if (napi_create_function(env, name, NAPI_AUTO_LENGTH, call, nullptr, &made) == napi_ok) napi_set_named_property(env, exports, name, made);
}

NAPI_MODULE_INIT() {
  define(env, exports, "cpuMs", cpuMs);
  define(env, exports, "closeSocketsAtExit", closeSocketsAtExit);
  define(env, exports, "duplicate", duplicate);
  define(env, exports, "stopSockets", stopSockets);
  return exports;
}
