/*
 * Warnings about policies that are valid, and decide worse than they look. A policy that asks for
 * nothing but crane's arithmetic gets none: it is there to decide as crane does.
 */
#pragma once

#include "codec/reader.h"
#include "policy/policy.h"

/** policy_advise() - warn about @spec, from which @policy was read without an error */
void policy_advise(const struct reader_map *spec, const struct policy *policy);
