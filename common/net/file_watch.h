/*
 * Notices that a file has become another one: rewritten in place, replaced by rename, or swapped
 * behind a symbolic link, as the kubelet does with the files of a ConfigMap. It looks at the file
 * every two seconds, which works on every file system; inotify sees nothing of some of them.
 */
#pragma once

#include "base/attributes.h"
#include "net/loop.h"

enum { FILE_WATCH_PERIOD_MS = 2000 };

/** on_change: it is there, and not what it was at the last call (or at the beginning) */
typedef void file_watch_fn(void *userdata, const char *path);

struct file_watch;

/** file_watch_new() - @path is copied; a file that is missing now is reported when it comes */
struct file_watch *file_watch_new(struct loop *loop, const char *path, file_watch_fn *fn,
                                  void *userdata);
void file_watch_free(struct file_watch *watch);
DEFINE_FREEP(struct file_watch, file_watch_free);

/** file_watch_reload() - call @fn now, changed or not (SIGHUP) */
void file_watch_reload(struct file_watch *watch);
