/*
 * All kinds of sources: a new one has a row in source_kinds.c.
 */
#pragma once

#include "controller/source/source.h"

/* NULL ends them. */
extern const struct source_kind *const source_kinds[];
