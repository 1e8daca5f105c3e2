/*
 * The configurations of schedulers that call our extender, or should: the file of
 * --scheduler-config, or the ConfigMaps that name the extender or that the second scheduler mounts.
 * Configurations of other schedulers are ignored.
 */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "cli/doctor/doctor_facts.h"

/** doctor_config_load() - read a file or pipe; @ret is owned by the caller. Return: 0; negative
 * errno, @err names the file */
_must_check_ int doctor_config_load(const char *path, struct tree **ret, struct error *err);
/** doctor_config_find() - without a file, search the ConfigMaps; then find our entry in each
 * configuration */
void doctor_config_find(struct doctor_facts *facts);
void doctor_config_done(struct doctor_facts *facts);
/** doctor_config_text() - a scalar in @map, which may be NULL; "": there is none */
const char *doctor_config_text(const struct tree_node *map, const char *key);
/** doctor_config_list() - a top-level list of the document; an empty list if there is none */
const struct tree_node *doctor_config_list(const struct tree *tree, const char *key);
