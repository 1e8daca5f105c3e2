/* The page /trial: what a trial has counted, as JSON. docs/http-api.md has an example. */
#pragma once

#include "base/buf.h"
#include "extender/trial/trial.h"

/* The version of the page; another one has other keys. */
enum { TRIAL_PAGE_VERSION = 1, TRIAL_PAGE_MAX_BYTES = 1 << 16 };

/** trial_page_write() - the text of the page
 * @scoring: of the policy in force; only POLICY_SCORING_ESTIMATE has a trial
 * @running: live pods of the cluster */
void trial_page_write(const struct trial_stats *stats, enum policy_scoring scoring, size_t running,
                      int64_t now_unix_ms, struct buf *out);
