/*
 * Reports changes of a file: it was rewritten, replaced by a rename, or its symbolic link was
 * switched, as the kubelet does with ConfigMap volumes. It polls every two seconds, since inotify
 * does not work on all file systems. A change is reported when the file has stayed the same for a
 * second: a file that is still being written may already be valid.
 */
#pragma once

#include "net/loop.h"

enum { FILE_WATCH_PERIOD_MS = 2000, FILE_WATCH_REST_MS = 1000 };

/** file_watch_fn: the file exists, and differs from its state at the last call or at the start */
typedef void file_watch_fn(void *userdata, const char *path);

struct file_watch;

/** file_watch_new() - start to watch; @path is copied. A missing file is reported when it exists */
struct file_watch *file_watch_new(struct loop *loop, const char *path, file_watch_fn *fn,
                                  void *userdata);
void file_watch_free(struct file_watch *watch);

/** file_watch_reload() - call the callback now, even without a change (for SIGHUP) */
void file_watch_reload(struct file_watch *watch);
