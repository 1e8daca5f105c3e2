/*
 * One asynchronous run of a credential plugin, with a deadline and limits on its output. The plugin
 * and its children are killed at the deadline, and by exec_run_free().
 *
 * A plugin in the foreground, such as one that asks for a password, has no deadline, writes its
 * stderr where we do, and is in our process group, so that the terminal's Ctrl-C ends both.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/exec_credential.h"
#include "net/loop.h"

enum { EXEC_STDERR_MAX_BYTES = 1024 };

struct exec_run;

struct exec_outcome {
        /* NULL: the plugin failed. The callee may take its members; it then zeroes it. */
        struct exec_credential *credential;
        struct error err; /* -ETIMEDOUT, -ENOENT, -EFBIG, -EPROTO, -EINVAL, ... */
        /* The beginning of stderr, masked by secret_mask(); "" in the foreground. */
        const char *stderr_text;
};

/** exec_run_fn: the run has ended; everything in @outcome is borrowed. It calls exec_run_free(). */
typedef void exec_run_fn(void *userdata, struct exec_outcome *outcome);

/**
 * exec_run_new() - start the plugin
 * @plugin:     borrowed; outlives the run
 * @timeout_ms: until the deadline, if there is one
 * @fn:         called once, on a later turn, also when it could not be started
 */
struct exec_run *exec_run_new(struct loop *loop, const struct exec_plugin *plugin,
                              int64_t timeout_ms, exec_run_fn *fn, void *userdata);
/** exec_run_free() - without a callback; kills the plugin if it is running */
void exec_run_free(struct exec_run *run);
