/*
 * The options that both programs have, with one meaning in both: rows for the option table, and
 * what their values come to.
 *
 *     static struct program_options shared;
 *     static const struct option_row rows[] = {
 *             PROGRAM_POLICY_ROWS(shared),
 *             ...
 *     };
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/zone.h"
#include "kube/kube_access.h"
#include "program/options.h"

enum { PROGRAM_EXIT_RUNTIME = 1, PROGRAM_EXIT_CONFIG = 2 };

/* Where the rows put their values. */
struct program_options {
        const char *policy_path;
        bool is_strict, is_check_config;
        struct kube_access_options kube;
        const char *annotation_prefix, *annotation_timezone;
        int log_level, log_format;
};

extern const char *const program_log_levels[];
extern const char *const program_log_formats[];

/* clang-format off */
#define PROGRAM_POLICY_ROWS(o)                                                                     \
        {.name = "policy-config-path", .type = OPTION_STRING, .value = &(o).policy_path,           \
         .metavar = "FILE",                                                                        \
         .help = "The DynamicSchedulerPolicy, YAML or JSON. A running program reads it again when "\
                 "it changes, also behind a symbolic link as in a ConfigMap volume, and on "       \
                 "SIGHUP; one that is not usable leaves the old one in force. Default: the "       \
                 "built-in policy, see --check-config."},                                          \
        {.name = "strict", .type = OPTION_BOOL, .value = &(o).is_strict,                           \
         .help = "An unknown field in the policy is an error and not only a warning."}

#define PROGRAM_CHECK_ROW(o)                                                                       \
        {.name = "check-config", .type = OPTION_BOOL, .value = &(o).is_check_config,               \
         .help = "Read options, the files that they name, and the policy, print what is in force, end "   \
                 "with 0 or 2."}

#define PROGRAM_ANNOTATION_ROWS(o)                                                                 \
        {.name = "annotation-prefix", .type = OPTION_STRING, .value = &(o).annotation_prefix,      \
         .fallback = "", .metavar = "DOMAIN",                                                      \
         .help = "DNS prefix of the annotations' keys, such as load.example.com. Default: none, "  \
                 "as crane."},                                                                     \
        {.name = "annotation-timezone", .type = OPTION_STRING,                                     \
         .value = &(o).annotation_timezone, .fallback = "UTC", .metavar = "ZONE",                  \
         .help = "Whose wall clock annotations carry under their Z. crane writes local time of "   \
                 "$TZ, Asia/Shanghai unless set; only for mixing with it."}

#define PROGRAM_KUBE_ROWS(o)                                                                       \
        {.name = "kubeconfig", .type = OPTION_STRING, .value = &(o).kube.kubeconfig,               \
         .metavar = "FILE",                                                                        \
         .help = "How to reach the API server. Default: the pod's service account, else "          \
                 "$KUBECONFIG, else ~/.kube/config."},                                             \
        {.name = "context", .type = OPTION_STRING, .value = &(o).kube.context, .metavar = "NAME",  \
         .help = "The kubeconfig's context to use. Default: its current-context."},                \
        {.name = "master", .type = OPTION_STRING, .value = &(o).kube.master, .metavar = "URL",     \
         .help = "The API server, over what the kubeconfig says."}

#define PROGRAM_LOG_ROWS(o)                                                                        \
        {.name = "log-level", .type = OPTION_ENUM, .value = &(o).log_level, .fallback = "info",    \
         .choices = program_log_levels, .help = "The least important lines to show."},             \
        {.name = "log-format", .type = OPTION_ENUM, .value = &(o).log_format,                      \
         .fallback = "logfmt", .choices = program_log_formats, .help = "Form of a line."}
/* clang-format on */

/**
 * program_end() - the last call of a main: has all arrived that was printed?
 *
 * A full disk shows only when what is buffered is written, so exit() would pass over it.
 * Return: @status, but PROGRAM_EXIT_RUNTIME, said on stderr, in place of 0 when something was lost
 */
_must_check_ int program_end(const char *program, int status);

/**
 * program_exit_code() - the status of a program that cannot start
 * Return: PROGRAM_EXIT_RUNTIME where trying again may help (a port in use; no memory, thread or
 * descriptor to be had), else PROGRAM_EXIT_CONFIG
 */
int program_exit_code(const struct error *err);

/** program_log_set() - log_set() with the values of PROGRAM_LOG_ROWS */
void program_log_set(const struct program_options *options);

/* What PROGRAM_ANNOTATION_ROWS come to. */
struct program_annotations {
        char *prefix;      /* "" or "load.example.com/" */
        struct zone *zone; /* NULL: UTC */
};

/**
 * program_annotations_init() - check and prepare; once a process (see base/zone.h)
 * Return: 0; -EINVAL or -ENOENT, @err names the flag
 */
_must_check_ int program_annotations_init(struct program_annotations *ret,
                                          const struct program_options *options, struct error *err);
void program_annotations_done(struct program_annotations *annotations);
