/* --check-config for both programs. */
#pragma once

#include "base/attributes.h"
#include "base/error.h"
#include "policy/policy.h"
#include "program/program_options.h"

/**
 * policy_options_check() - --check-config: print the options, then the policy
 *
 * Warnings go to stderr, prefixed with @program. A kubeconfig is loaded only if an option names it,
 * so a policy can be checked without a cluster.
 * Return: 0; negative errno if the policy or the kubeconfig cannot be used; then nothing is printed
 */
_must_check_ int policy_options_check(const char *program, const struct program_options *options,
                                      const struct option_row *rows, size_t row_count,
                                      struct error *err);
