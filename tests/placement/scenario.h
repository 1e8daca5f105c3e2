/*
 * Scenario files: YAML, see README.md. Every field is checked by name, and an unknown one is an
 * error: a scenario with a typing mistake would measure something else.
 */
#pragma once

#include "base/error.h"
#include "world.h"

/** scenario_load() - Return: 0; negative errno with file and line in @err */
_must_check_ int scenario_load(const char *path, struct scenario *ret, struct error *err);
