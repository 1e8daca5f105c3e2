/* kube-scheduler's configuration, from the file of --scheduler-config. */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "codec/tree.h"

/** doctor_config_load() - read a file or pipe; @ret is owned by the caller. Return: 0; negative
 * errno, @err names the file */
_must_check_ int doctor_config_load(const char *path, struct tree **ret, struct error *err);
/** doctor_config_entry() - of our extender: the one whose urlPrefix has its name, its port or the
 * placeholder of deploy/scheduler, or the only one. Borrowed, NULL: there is none
 * @config: may be NULL */
const struct tree_node *doctor_config_entry(const struct tree *config);
/** doctor_config_text() - a scalar in @map, which may be NULL; "": there is none */
const char *doctor_config_text(const struct tree_node *map, const char *key);
