/*
 * The options of both daemons: rows for the option table, and functions for their values.
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

/* The values of the rows. */
struct program_options {
        const char *policy_path;
        bool is_strict, is_check_config, has_status_page;
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
         .help = "DynamicSchedulerPolicy in YAML or JSON. Read again when it changes and on "      \
                 "SIGHUP; an invalid file does not replace the policy in force. Default: the "     \
                 "cluster's DynamicSchedulerPolicy named default, or else the built-in policy."},  \
        {.name = "strict", .type = OPTION_BOOL, .value = &(o).is_strict,                           \
         .help = "Treat likely misspellings in the policy as errors, not as warnings."}

#define PROGRAM_CHECK_ROW(o)                                                                       \
        {.name = "check-config", .type = OPTION_BOOL, .value = &(o).is_check_config,               \
         .help = "Check flags, files and policy, print the configuration, and exit with 0 or 2."}

/* @text: what the page of this program shows */
#define PROGRAM_STATUS_PAGE_ROW(o, text)                                                           \
        {.name = "status-page", .type = OPTION_BOOL, .value = &(o).has_status_page,                \
         .fallback = "true", .help = text}

#define PROGRAM_ANNOTATION_ROWS(o)                                                                 \
        {.name = "annotation-prefix", .type = OPTION_STRING, .value = &(o).annotation_prefix,      \
         .fallback = "", .metavar = "DOMAIN",                                                      \
         .help = "Prefix of annotation keys, such as load.example.com. Default: none, as in "      \
                 "crane."},                                                                        \
        {.name = "annotation-timezone", .type = OPTION_STRING,                                     \
         .value = &(o).annotation_timezone, .fallback = "UTC", .metavar = "ZONE",                  \
         .help = "Time zone of timestamps in annotations. Only for use with crane, which writes "  \
                 "the local time of $TZ, Asia/Shanghai by default."}

#define PROGRAM_KUBE_ROWS(o)                                                                       \
        {.name = "kubeconfig", .type = OPTION_STRING, .value = &(o).kube.kubeconfig,               \
         .metavar = "FILE",                                                                        \
         .help = "kubeconfig file. Default: the pod's service account, else $KUBECONFIG, else "    \
                 "~/.kube/config."},                                                               \
        {.name = "master", .type = OPTION_STRING, .value = &(o).kube.master, .metavar = "URL",     \
         .help = "URL of the API server; overrides the kubeconfig."}

#define PROGRAM_LOG_ROWS(o)                                                                        \
        {.name = "log-level", .type = OPTION_ENUM, .value = &(o).log_level, .fallback = "info",    \
         .choices = program_log_levels, .help = "Minimum level of log lines."},                    \
        {.name = "log-format", .type = OPTION_ENUM, .value = &(o).log_format,                      \
         .fallback = "logfmt", .choices = program_log_formats, .help = "Format of log lines."}
/* clang-format on */

/**
 * program_end() - flush standard output; the last call of main()
 *
 * Only now a full disk is noticed, and exit() would ignore it.
 * Return: @status; PROGRAM_EXIT_RUNTIME instead of 0 if output was lost, with an error on stderr
 */
_must_check_ int program_end(const char *program, int status);

/**
 * program_exit_code() - the exit status of a program that cannot start
 * Return: PROGRAM_EXIT_RUNTIME if a retry may help (the port is in use; memory, threads or
 * descriptors are exhausted), else PROGRAM_EXIT_CONFIG
 */
int program_exit_code(const struct error *err);

/** program_usage_error() - print the error and where to find help: "program: unknown flag --prot;
 * did you mean --port?", "See 'program --help'." */
void program_usage_error(const char *program, const struct error *err);

/* Why a daemon cannot start: sentences on a terminal, a log line elsewhere. */

/** program_refuse_usage() - its flags are wrong */
void program_refuse_usage(const char *program, const struct error *err);
/** program_refuse_start() - for any other reason */
void program_refuse_start(const char *program, const struct error *err);

/** program_begin() - set the log to the values of PROGRAM_LOG_ROWS, and warn of unknown variables
 */
void program_begin(const char *program, const struct program_options *options,
                   const struct option_row *rows, size_t row_count);
/** program_warn_variables() - print a warning for each unknown variable of the environment */
void program_warn_variables(const char *program, const struct option_table *tables, size_t count);

/* The values of PROGRAM_ANNOTATION_ROWS, checked. */
struct program_annotations {
        char *prefix;            /* "" or "load.example.com/" */
        const struct zone *zone; /* NULL: UTC */
};

/**
 * program_annotations_init() - check the options; call it once per process (see base/zone.h)
 * Return: 0; -EINVAL or -ENOENT with the flag in @err
 */
_must_check_ int program_annotations_init(struct program_annotations *ret,
                                          const struct program_options *options, struct error *err);
void program_annotations_done(struct program_annotations *annotations);
