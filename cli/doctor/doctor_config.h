/*
 * The configurations of schedulers that ask our extender, or should: the given file, or the
 * ConfigMaps that name the extender or are mounted by the second scheduler. Configurations of other
 * schedulers are left out.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "cli/doctor/doctor_facts.h"

/** doctor_config_load() - a file, which may be a pipe; @ret is owned by the caller. Return: 0;
 * negative errno, @err names it */
_must_check_ int doctor_config_load(const char *path, struct tree **ret, struct error *err);
/** doctor_config_find() - without a file, look in the ConfigMaps; then find our entry in each
 * configuration */
void doctor_config_find(struct doctor_facts *facts);
void doctor_config_done(struct doctor_facts *facts);
/** doctor_config_text() - a scalar of @map; "": it has none; @map may be NULL */
const char *doctor_config_text(const struct tree_node *map, const char *key);
/** doctor_config_list() - a list of the whole document; an empty one if it has none */
const struct tree_node *doctor_config_list(const struct tree *tree, const char *key);
