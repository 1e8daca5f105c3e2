/*
 * Reports when a file has changed: rewritten in place, replaced by rename, or switched behind a
 * symbolic link, as the kubelet does with ConfigMap volumes. Polls every two seconds, since inotify
 * does not work on every file system. What has changed is looked at once more a second later, and
 * not reported before it stays as it is: a file that is written in pieces may make sense half way.
 */
#pragma once

#include "base/attributes.h"
#include "net/loop.h"

enum { FILE_WATCH_PERIOD_MS = 2000, FILE_WATCH_REST_MS = 1000 };

/** file_watch_fn: the file exists and differs from what it was at the last call or the start */
typedef void file_watch_fn(void *userdata, const char *path);

struct file_watch;

/** file_watch_new() - @path is copied; a missing file is reported once it exists */
struct file_watch *file_watch_new(struct loop *loop, const char *path, file_watch_fn *fn,
                                  void *userdata);
void file_watch_free(struct file_watch *watch);
DEFINE_FREEP(struct file_watch, file_watch_free);

/** file_watch_reload() - call the callback now, changed or not (for SIGHUP) */
void file_watch_reload(struct file_watch *watch);
