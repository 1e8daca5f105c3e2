/*
 * One run of a credential plugin, on the loop: nobody waits for it. It has a deadline, and what it
 * prints a ceiling; it is killed, with its children, at its deadline and with its struct.
 */
#pragma once

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "kube/exec_credential.h"
#include "net/loop.h"

enum { EXEC_SAID_MAX_BYTES = 1024 };

struct exec_run;

struct exec_outcome {
        /* NULL: it failed. The callee may take what is in it, and zeroes it then. */
        struct exec_credential *credential;
        struct error err; /* -ETIMEDOUT, -ENOENT, -EFBIG, -EPROTO, -EINVAL, ... */
        /* The beginning of its stderr, with what looks like a secret masked, see secret_mask(). */
        const char *said;
};

/** exec_run_fn: the plugin has ended; everything in @outcome is borrowed. Frees the run. */
typedef void exec_run_fn(void *userdata, struct exec_outcome *outcome);

/**
 * exec_run_new() - start it
 * @plugin: borrowed; outlives the run
 * @fn:     called once, on a later turn, also when it could not be started
 */
struct exec_run *exec_run_new(struct loop *loop, const struct exec_plugin *plugin,
                              int64_t timeout_ms, exec_run_fn *fn, void *userdata);
/** exec_run_free() - without a call to @fn; ends the plugin if it still runs */
void exec_run_free(struct exec_run *run);
