/*
 * Warnings about valid policies that place pods worse than they seem to. A policy that uses only
 * crane's arithmetic gets no warning: its purpose is to decide as crane does.
 */
#pragma once

#include "codec/reader.h"
#include "policy/policy.h"

/** policy_advise() - add warnings to @policy, which was read from @spec without errors */
void policy_advise(const struct reader_map *spec, const struct policy *policy);
